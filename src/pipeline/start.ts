import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { reasonOf, SinkError, type Warning } from '../errors.js';
import { printable } from '../printable.js';
import { finishIntents, publish, removeIntent, writeIntent, type Intent, type Move } from '../files/index.js';
import { sweepLandings } from '../landing/index.js';
import { removeLanding } from '../landing/index.js';
import { noLandings, openLandings, type Landings } from './landings.js';
import type { Pipeline } from './pipeline.js';
import type { RunOptions } from './run-options.js';

/** A run that has begun: what is settled before anything is touched, and what it does to the disk beside its outputs. */
export type Run = ReturnType<typeof startRun>;

/** Settles what a run needs before anything is touched. */
export function startRun(pipeline: Pipeline, options: RunOptions) {
  const startedAt = new Date().toISOString();
  const runId = newRunId(startedAt);
  const stateDir = resolve(pipeline.baseDir, options.stateDir ?? '.leadstream');
  const outputs = pipeline.plan.sinks.flatMap(({ output }) => output ?? []);
  const paths = [...outputs, ...(pipeline.rejects.path === undefined ? [] : [pipeline.rejects.path])];
  const warnings: Warning[] = [];
  /** Whether the landed pages are those of a run that is published by now. */
  let spent = false;
  const warn = ({ code, message }: Warning) => {
    const warning = { code, message: printable(message) };
    warnings.push(warning);
    options.onWarning?.(warning);
  };

  /** What an earlier run had decided comes first: opening its outputs would remove what it wanted to publish. */
  async function finishEarlier(): Promise<void> {
    if (outputs.length === 0) return;
    const only = (intent: Intent) => intent.outputs.some((output) => paths.includes(output));
    for (const { runId: earlier } of await finishIntents(intentsIn(stateDir), { runId, held: paths, only, removeSpent: removeLanding })) {
      warn({ code: 'W_RUN_FINISHED', message: `the publication of run ${earlier} was completed` });
      spent = true;
    }
  }

  async function landings(): Promise<Landings> {
    if (outputs.length === 0) return noLandings;
    const { baseUrl, auth, firstPage = 1 } = pipeline.connection;
    const { landingMaxAgeMs: maxAgeMs } = pipeline;
    const folder = join(stateDir, 'landing');
    await sweepLandings(folder);
    if (maxAgeMs === undefined) return noLandings;
    return openLandings({
      folder,
      runId,
      baseUrl,
      auth,
      firstPage,
      maxAgeMs,
      restart: spent || (options.restart ?? false),
      onWarning: warn,
    });
  }

  /** From here on the publication will be completed, by this run or by the next one. */
  async function decide(moves: readonly Move[], landed: Landings): Promise<void> {
    if (moves.length === 0) return;
    await writeIntent(intentsIn(stateDir), { runId, pipeline: pipeline.name, outputs, moves, spent: await landed.folders() });
  }

  async function carryOut(moves: readonly Move[], landed: Landings): Promise<void> {
    await publish(moves).catch((failure: unknown) => {
      throw new SinkError('E_SINK_WRITE', `${reasonOf(failure)}; the next run, or run --finish, completes what was decided`);
    });
    // Before the intent is forgotten: pages of a published run must not be read again by the next one.
    await landed.remove().catch(nuisance);
    // An intent that stays is carried out once more by the next run, which changes nothing.
    if (moves.length > 0) await removeIntent(intentsIn(stateDir), runId).catch(nuisance);
  }

  /** Something that fails beside the point: after the publication, or while another failure is being told. */
  function nuisance(failure: unknown): void {
    warn({ code: 'W_SINK_TIDY', message: `not tidied up: ${reasonOf(failure)}` });
  }

  return { runId, startedAt, paths, warnings, warn, nuisance, finishEarlier, landings, decide, carryOut };
}

/** Where the intents to publish are. */
export function intentsIn(stateDir: string): string {
  return join(stateDir, 'publishing');
}

/** Unique, sortable by time, safe in file names. */
export function newRunId(startedAt: string): string {
  return `${startedAt.slice(0, 23).replaceAll(/[-:.]/g, '')}Z-${randomBytes(4).toString('hex')}`;
}
