import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { defaultLimit, spooledSince, removeSpool, sweepSpools, noSpools, openSpools, type Spools } from '../../source/index.js';
import { queryOf, secretsOf } from '../../http/index.js';
import { Events, watchersProblem } from '../../events/index.js';
import { createRedactor, LeadstreamError, reasonOf, SinkError, type Warning } from '../../core/index.js';
import {
  finishIntents,
  lockOutputs,
  overlap,
  Publication,
  removeIntent,
  reworded,
  writeIntent,
  type Intent,
  type Lock,
  type Move,
  fixedPath,
  type PathNames,
} from '../../store/index.js';
import { readBegun, removeBegun, writeBegun } from './began.js';
import { noCounts, openCounts, type Counts } from './counts.js';
import type { Pipeline } from '../spec/pipeline.js';
import type { RunOptions } from './run-options.js';

/** A run that has begun: what is settled before anything is touched, and what it does to the disk beside its outputs. */
export type Run = ReturnType<typeof startRun>;

/** Outputs that are a run's own, under the names that they have in it. */
export interface Claim {
  readonly lock: Lock;
  /** When the run was first started, ISO 8601: when an interrupted run of this pipeline was whose pages are used. */
  readonly firstStart: string;
  /** The UTC date of that, `YYYY-MM-DD`. */
  readonly date: string;
  /** What the sinks publish. Absolute paths. */
  readonly outputs: readonly string[];
  /** Absolute path of the rejects; `undefined` when they are only counted. */
  readonly rejects: string | undefined;
}

/**
 * Settles what a run needs before anything is touched.
 *
 * @throws {LeadstreamError} `E_USAGE` for a state folder that is no folder of this machine, and for watchers that are none.
 */
export function startRun(pipeline: Pipeline, options: RunOptions) {
  const startedAt = new Date().toISOString();
  const runId = newRunId(startedAt);
  const problem = watchersProblem(options.watch ?? []);
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `watch: ${problem}`);
  const stateDir = fixedPath(options.stateDir ?? '.leadstream', '--state-dir', pipeline.baseDir);
  const spoolFolder = join(stateDir, 'spool');
  const begunFolder = join(stateDir, 'begun');
  const { sinks, reads, collection } = pipeline.plan;
  const publishes = sinks.some(({ output }) => output !== undefined);
  const warnings: Warning[] = [];
  /** Whether the spooled pages are those of a run that is published by now. */
  let spent = false;
  const { auth } = pipeline.connection;
  // What the report says of warnings comes from where everybody else has them from.
  const collect = { warning: ({ code, message }: Warning) => void warnings.push({ code, message }) };
  const events = new Events(runId, createRedactor([...secretsOf(auth), ...pipeline.secrets]), [collect, ...[options.watch ?? []].flat()]);
  const warn = (warning: Warning) => events.warn(warning);

  /**
   * Locks the outputs and completes what earlier runs had decided to publish. A run that will go on with the pages of an interrupted one
   * of this pipeline has the day of that one; the pages can go while nothing is locked, and with a publication that is completed here.
   *
   * @throws {LeadstreamError} `E_RUN_LOCKED`.
   * @throws {SinkError} `E_SINK_PATH` when two outputs are one by now, because a link was made since the file was checked, and for
   * one in the state folder.
   */
  async function claim(): Promise<Claim> {
    const firstStart = await firstStarted();
    const date = firstStart.slice(0, 10);
    const names: PathNames = { pipeline: pipeline.name, 'run.id': runId, 'run.date': date };
    const outputs = sinks.flatMap(({ outputOf }) => outputOf(names) ?? []);
    const rejects = pipeline.rejects.pathOf(names);
    const paths = [...outputs, ...(rejects === undefined ? [] : [rejects])];
    refuseOverlaps(paths);
    refuseIn(stateDir, paths);
    const lock = await lockOutputs(paths, { runId });
    try {
      await finishEarlier(paths);
      if ((await firstStarted()) === firstStart) return { lock, firstStart, date, outputs, rejects };
    } catch (failure) {
      await lock.release();
      throw failure;
    }
    await lock.release();
    return claim();
  }

  /** When the first of the runs of this pipeline began that share the pages of its collection; when this one did if there are none. */
  async function firstStarted(): Promise<string> {
    const { spoolMaxAgeMs: maxAgeMs } = pipeline;
    if (!publishes || maxAgeMs === undefined || spent || options.restart) return startedAt;
    const begun = await readBegun(begunFolder, pipeline.name);
    if (begun === undefined || begun.startedAt > startedAt) return startedAt;
    return (await spooledSince(spoolFolder, source(), maxAgeMs)) === begun.spoolSince ? begun.startedAt : startedAt;
  }

  function source() {
    const { baseUrl, auth, limit = defaultLimit, firstPage = 1 } = pipeline.connection;
    return { baseUrl, account: queryOf(auth), collection: collection.name, limit, firstPage };
  }

  /**
   * Notes whose pages this run spools, once the spool of the collection is open.
   *
   * @returns `false` when the outputs have the day of an interrupted run whose pages turned out to be of no use.
   */
  async function begin({ firstStart }: Claim, spooled: Spools): Promise<boolean> {
    if (spooled.startedAt === undefined) return true;
    if (firstStart !== startedAt && (await readBegun(begunFolder, pipeline.name))?.spoolSince !== spooled.startedAt) return false;
    await writeBegun(begunFolder, pipeline.name, { startedAt: firstStart, spoolSince: spooled.startedAt });
    return true;
  }

  /** Forgets the spooled pages, which are published or of no use, and whose they were. */
  async function forgetPages(spooled: Spools): Promise<void> {
    await spooled.remove();
    if (spooled.startedAt !== undefined) await removeBegun(begunFolder, pipeline.name);
  }

  /**
   * What an earlier run had decided comes first: opening its outputs would remove what it wanted to publish. One of this pipeline may
   * have had other paths, on another day.
   */
  async function finishEarlier(held: readonly string[]): Promise<void> {
    if (!publishes) return;
    const only = (intent: Intent) => intent.pipeline === pipeline.name || intent.outputs.some((output) => held.includes(output));
    for (const { runId: earlier } of await finishIntents(intentsIn(stateDir), { runId, held, only, removeSpent: spentIn(stateDir) })) {
      warn({ code: 'W_RUN_FINISHED', message: `the publication of run ${earlier} was completed` });
      spent = true;
    }
  }

  async function spools(): Promise<Spools> {
    if (!publishes) return noSpools;
    const { baseUrl, auth, firstPage = 1, maxBodyBytes } = pipeline.connection;
    const { spoolMaxAgeMs: maxAgeMs } = pipeline;
    await sweepSpools(spoolFolder);
    if (maxAgeMs === undefined) return noSpools;
    return openSpools({
      folder: spoolFolder,
      runId,
      baseUrl,
      auth,
      firstPage,
      maxAgeMs,
      maxPageBytes: maxBodyBytes,
      restart: spent || (options.restart ?? false),
      events,
    });
  }

  /** What earlier runs counted. A run that only prints remembers nothing. */
  async function counts(): Promise<Counts> {
    if (!publishes) return noCounts;
    const folder = join(stateDir, 'counts');
    return openCounts({ folder, pipeline: pipeline.name, connection: pipeline.connection, collections: reads, events });
  }

  /**
   * From here on the publication will be completed, by this run or by the next one. That of a run that only prints, which is its rejects,
   * by this one alone.
   */
  async function decide({ outputs, rejects }: Claim, moves: readonly Move[], spooled: Spools): Promise<Publication> {
    if (!publishes) return Publication.of(moves);
    const paths = rejects === undefined ? outputs : [...outputs, rejects];
    return writeIntent(intentsIn(stateDir), { runId, pipeline: pipeline.name, outputs: paths, moves, spent: await spooled.folders() });
  }

  async function carryOut(decided: Publication, spooled: Spools): Promise<void> {
    await decided.carryOut().catch((failure: unknown) => {
      if (!publishes) throw failure;
      throw reworded(failure, `${reasonOf(failure)}; the next run, or run --finish, completes what was decided`);
    });
    // Before the intent is forgotten: pages of a published run must not be read again by the next one.
    await forgetPages(spooled).catch(nuisance);
    // An intent that stays is carried out once more by the next run, which changes nothing.
    if (publishes) await removeIntent(intentsIn(stateDir), runId).catch(nuisance);
  }

  /** Something that fails beside the point: after the publication, or while another failure is being told. */
  function nuisance(failure: unknown): void {
    warn({ code: 'W_SINK_TIDY', message: `not tidied up: ${reasonOf(failure)}` });
  }

  /** What was counted cannot be kept: everything is published, and the next run is compared with less. */
  function forgotten(failure: unknown): void {
    warn({ code: 'W_RUN_COUNTS', message: `what this run counted was not kept: ${reasonOf(failure)}` });
  }

  return {
    runId,
    startedAt,
    stateDir,
    events,
    warnings,
    warn,
    nuisance,
    forgotten,
    claim,
    counts,
    spools,
    begin,
    forgetPages,
    decide,
    carryOut,
  };
}

function refuseOverlaps(paths: readonly string[]): void {
  paths.forEach((path, index) => {
    const first = paths.slice(0, index).find((other) => overlap(other, path));
    if (first === undefined) return;
    const remedy = 'two outputs need two places';
    throw new SinkError('E_SINK_PATH', `${path} is ${first} through a link, or one is within the other; ${remedy}`);
  });
}

/** What is in the state folder is read as leadstream's own, and written over. */
function refuseIn(stateDir: string, paths: readonly string[]): void {
  const path = paths.find((output) => overlap(stateDir, output));
  if (path === undefined) return;
  throw new SinkError(
    'E_SINK_PATH',
    `${path} is in the state folder ${stateDir}, or around it; write to another place, or choose another one by --state-dir`,
  );
}

/** Where the intents to publish are. */
export function intentsIn(stateDir: string): string {
  return join(stateDir, 'publishing');
}

/** What removes spooled pages that were published: those of this state folder, whatever place an intent says that they are in. */
export function spentIn(stateDir: string): (folder: string) => Promise<void> {
  return (folder) => removeSpool(join(stateDir, 'spool'), folder);
}

/** Unique, sortable by time, safe in file names. */
export function newRunId(startedAt: string): string {
  return `${startedAt.slice(0, 23).replaceAll(/[-:.]/g, '')}Z-${randomBytes(4).toString('hex')}`;
}
