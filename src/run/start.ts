import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { defaults, abortSignal, callable, check, checkUsage, filledText, boolean, judged, number, object } from '../options/index.js';
import { accountOf, RateLimiters } from '../http/index.js';
import { sourceOf, spooledSince, sweepSpools, noSpools, Spools } from '../source/index.js';
import { Events, watchersProblem, type Watchers } from '../events/index.js';
import { createRedactor, newRunId, reasonOf, type Warning, type WarningCode, SinkError } from '../core/index.js';
import { attempt, isLocked, lockOutputs, makePrivate, overlap, recoverCommits, refuseInTable, sha256Text, Stores } from '../store/index.js';
import type { LoggedCommit, PathNames } from '../store/index.js';
import { TableSets, type Participant } from '../lake/index.js';
import { Counts } from './counts.js';
import { checkPipeline, connectionTo, type Pipeline } from '../plan/index.js';
import type { RunPart } from './part.js';
import { StateFolder } from './state.js';
import { refuseStopped, stopBy } from './stop.js';

/** The options of a run. */
export interface RunOptions {
  /** Stops the run; nothing is published. */
  readonly signal?: AbortSignal;
  /** Where the `stdout` sink writes. Default `process.stdout`. */
  readonly stdout?: NodeJS.WritableStream;
  /** State folder, for spooled pages and the redo log. Default `.leadstream` in the pipeline's base folder. */
  readonly stateDir?: string;
  /** Whether to discard the pages that an interrupted run spooled. Default `false`. */
  readonly restart?: boolean;
  /** Whether to publish lists and outputs that shrank too much, once. Default `false`. */
  readonly allowShrink?: boolean;
  /** Whether a run that a limit ended may replace outputs. Default `false`. */
  readonly allowPartial?: boolean;
  /** Whether merges may delete or change more rows than allowed, once, also because the pipeline changed. Default `false`. */
  readonly acceptDeletes?: boolean;
  /** How long to wait while other runs hold outputs or spools, in milliseconds. Default 0. */
  readonly waitMs?: number;
  /** Start time of the run, for paths, ids and expressions. Default: now. */
  readonly now?: Date;
  /** Rate limiters shared by runs, one per service: a run continues where the last one left off. Default: its own. */
  readonly limiters?: RateLimiters;
  /** What this run shares with the file's other pipelines, for `publish: together`; required if there are any. */
  readonly sets?: TableSets | undefined;
  /** What this process does of a run that several share. */
  readonly part?: RunPart | undefined;
  /** Receives the run's events. Default: only subscribers of the channels do. */
  readonly watch?: Watchers | undefined;
}

// A text such as 'false' would allow what must not be published.
const optionsCheck = object({
  ...{ signal: abortSignal, stateDir: filledText, watch: judged(watchersProblem) },
  ...{ restart: boolean, allowShrink: boolean, allowPartial: boolean, acceptDeletes: boolean },
  stdout: object({ write: callable }, ['write'], 'open'),
  waitMs: number({ min: 0 }),
  now: check('a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())),
  part: object({ table: object({}, [], 'open') }, ['table'], 'open'),
  limiters: check('RateLimiters', (value) => value instanceof RateLimiters),
  sets: check('TableSets', (value) => value instanceof TableSets),
});

/** The outputs that a run locked, as absolute paths: of the sinks, of the rejects (`undefined` if only counted), and of all. */
export type Claim = Awaited<ReturnType<Run['claim']>>;

/** A run that has started: what is determined before anything is touched. */
export class Run {
  readonly startedAt: string;
  readonly #beganMs = performance.now();
  readonly runId: string;
  readonly state: StateFolder;
  readonly stop: ReturnType<typeof stopBy>;
  readonly stores: Stores;
  readonly participant: Participant | undefined;
  readonly limiters: RateLimiters;
  readonly warnings: Warning[] = [];
  readonly events: Events;
  /** Outputs that have published: their rows are there, even if another output could not be published. */
  readonly published: string[] = [];
  /** Whether it publishes anything that later runs find. */
  readonly publishes: boolean;
  /** A run with a limit does not touch the pages of an interrupted run. */
  readonly #spools: boolean;
  /** Whether the spooled pages belong to a published run. */
  #spent = false;
  /** Whether this run opened the spools, so that only usable pages are left. */
  #spooling = false;

  constructor(
    readonly pipeline: Pipeline,
    readonly options: RunOptions,
  ) {
    checkPipeline('runPipeline', pipeline);
    checkUsage('runPipeline', optionsCheck, options);
    const { part } = options;
    this.startedAt = part?.startedAt ?? (options.now ?? new Date()).toISOString();
    // What is committed has an id of its own.
    this.runId = part && part.table.role !== 'commit' ? part.table.run : newRunId(part ? undefined : this.startedAt);
    this.limiters = options.limiters ?? new RateLimiters();
    this.state = new StateFolder(options.stateDir, pipeline.baseDir);
    const { together, store } = pipeline;
    const { signal } = options;
    const barrier = together && (options.sets ?? new TableSets([pipeline])).at(together, pipeline.name, new Stores(store, signal));
    this.participant = barrier && { barrier, signal };
    this.stop = stopBy(options.signal, pipeline.deadlineMs);
    this.stores = new Stores(store, this.stop.signal);
    const collect = { warning: ({ code, message }: Warning) => void this.warnings.push({ code, message }) };
    this.events = new Events(this.runId, createRedactor(pipeline.secrets), [collect, ...[options.watch ?? []].flat()]);
    // A shard publishes nothing by itself.
    this.publishes = part?.table.role !== 'shard' && pipeline.plan.sinks.some(({ definition }) => !definition.prints);
    this.#spools = this.publishes && !part && pipeline.plan.stoppedBy === undefined;
  }

  /** Waits a moment if something was locked. @returns `false` if no time is left, or rows may have left the run since it `began`. */
  async waits(failure: unknown, began: boolean): Promise<boolean> {
    const { signal } = this.stop;
    const leftMs = (this.options.waitMs ?? 0) - (performance.now() - this.#beganMs);
    const printed = began && this.pipeline.plan.sinks.some(({ definition }) => definition.prints);
    if (leftMs <= 0 || signal.aborted || printed || this.published.length > 0 || !isLocked(failure)) return false;
    // With `restart`, pages of the other run must not be used either.
    this.#spooling = false;
    // Runs that wait for one another should not try at the same time.
    await wait(Math.min(leftMs, 500 + 1_000 * Math.random()), undefined, { signal }).catch(() => refuseStopped(signal));
    return true;
  }

  readonly warn = (warning: Warning): void => void this.events.warn(warning);

  /** For failures after the commit, or while another failure is handled. */
  readonly nonFatal = (what: string, code: WarningCode = 'W_SINK_TIDY') => {
    return (failure: unknown): void => this.warn({ code, message: `${what}: ${reasonOf(failure)}` });
  };

  /**
   * Locks the outputs and recovers logged commits of earlier runs. A run that uses an interrupted run's pages has its day. These pages can
   * disappear while nothing is locked, or by a commit recovered here; then it tries again.
   */
  async claim() {
    const { runId, stores } = this;
    const { part } = this.options;
    const { plan, baseDir } = this.pipeline;
    for (;;) {
      /** Start of the first of the runs that share the pages, ISO 8601. */
      const firstStart = await this.#firstStarted();
      const names: PathNames = { pipeline: this.pipeline.name, 'run.id': runId, 'run.date': firstStart.slice(0, 10) };
      const outputs = plan.sinks.flatMap(({ definition, config }) => definition.output(config, { baseDir, names }) ?? []);
      const rejects = part?.rejects ?? this.pipeline.rejects.pathOf(names);
      const paths = rejects === undefined ? outputs : [...outputs, rejects];
      refuseOverlaps(this.state.path, paths);
      const held = part?.table.role === 'shard' ? [] : [...paths, ...(await this.#withoutPath())];
      const lock = await lockOutputs(held, { runId, stores });
      try {
        await this.#recover(paths);
        if ((await this.#firstStarted()) === firstStart) return { lock, firstStart, outputs, rejects, paths };
      } catch (failure) {
        await lock.release();
        throw failure;
      }
      await lock.release();
    }
  }

  /** @returns `false` if the outputs have the day of an interrupted run whose pages are unusable. */
  async begin({ firstStart }: Claim, spooled: Spools): Promise<boolean> {
    const { name } = this.pipeline;
    if (spooled.startedAt === undefined) return true;
    if (firstStart !== this.startedAt && (await this.state.readBegun(name))?.spoolSince !== spooled.startedAt) return false;
    await this.state.writeBegun(name, { startedAt: firstStart, spoolSince: spooled.startedAt });
    return true;
  }

  async forgetPages(spooled: Spools): Promise<void> {
    await spooled.remove();
    if (spooled.startedAt !== undefined) await this.state.removeBegun(this.pipeline.name);
  }

  /**
   * @param isWhole Whether the whole list is read; pages of its end are not spooled.
   * @param after The last run that published without using spooled pages.
   */
  async spools(isWhole: boolean, after?: string): Promise<Spools> {
    if (!this.#spools) return noSpools;
    const { spoolMaxAgeMs: maxAgeMs } = this.pipeline;
    const pipeline = this.#keeper;
    const folder = this.state.folder('spool');
    await sweepSpools(folder);
    if (maxAgeMs === undefined || !isWhole) return noSpools;
    const restart = !this.#spooling && (this.#spent || (this.options.restart ?? false));
    this.#spooling = true;
    const { runId, events } = this;
    const serviceOf = (list: string) => connectionTo(this.pipeline, list);
    return new Spools({ folder, runId, serviceOf, maxAgeMs, restart, after, events, pipeline });
  }

  async counts(): Promise<Counts | undefined> {
    if (!this.publishes) return undefined;
    const { name: pipeline, plan } = this.pipeline;
    const read = Object.values(plan.collections).filter(({ name }) => plan.reads.includes(name));
    const lists = read.map((collection) => {
      const { baseUrl, auth } = connectionTo(this.pipeline, collection.name);
      return { baseUrl, account: accountOf(auth), collection };
    });
    return Counts.open(this.state.folder('counts'), { pipeline, run: this.runId, events: this.events }, lists);
  }

  /** For sinks without a path: one run of a pipeline at a time, and one that writes to a place, per state folder. */
  async #withoutPath(): Promise<readonly string[]> {
    const { name, plan } = this.pipeline;
    if (!plan.sinks.some(({ definition, output }) => !definition.prints && output === undefined)) return [];
    const sinks = this.state.folder('sinks');
    await attempt('E_SINK_PATH', `cannot create ${sinks}`, () => makePrivate(sinks));
    const places = plan.sinks.flatMap(({ place }) => (place === undefined ? [] : [`place-${sha256Text(place)}`]));
    return [name, ...places].map((each) => join(sinks, each));
  }

  async #firstStarted(): Promise<string> {
    const { startedAt } = this;
    const { spoolMaxAgeMs: maxAgeMs, name, connection, plan } = this.pipeline;
    if (!this.#spools || maxAgeMs === undefined || this.#spent || this.options.restart) return startedAt;
    const begun = await this.state.readBegun(name);
    if (begun === undefined || begun.startedAt > startedAt) return startedAt;
    const source = sourceOf(plan.collection, connection.limit ?? defaults.limit, { ...connection, pipeline: this.#keeper });
    return (await spooledSince(this.state.folder('spool'), source, maxAgeMs)) === begun.spoolSince ? begun.startedAt : startedAt;
  }

  /** While it waits for others, its pages stay; the others read their own. */
  get #keeper(): string | undefined {
    return this.pipeline.together && this.pipeline.name;
  }

  /** Opening outputs would remove what logged commits need. On another day, the paths may differ. */
  async #recover(held: readonly string[]): Promise<void> {
    if (!this.publishes) return;
    const { settle } = this.state;
    const { name } = this.pipeline;
    const only = ({ pipeline, outputs }: LoggedCommit) => pipeline === name || outputs.some((output) => held.includes(output));
    for (const { runId } of await recoverCommits(this.state.folder('redo-log'), { runId: this.runId, held, only, settle })) {
      this.warn({ code: 'W_RUN_RECOVERED', message: `the commit of run ${runId} was recovered from the redo log` });
      this.#spent = true;
    }
  }
}

function refuseOverlaps(stateDir: string, paths: readonly string[]): void {
  [stateDir, ...paths].forEach(refuseInTable);
  paths.forEach((path, index) => {
    const other = [stateDir, ...paths.slice(0, index)].find((each) => overlap(each, path));
    if (other === undefined) return;
    const [what, remedy] =
      other === stateDir
        ? [`the state folder ${stateDir}`, 'write somewhere else, or choose another state folder with --state-dir']
        : [other, 'give each output its own path'];
    throw new SinkError('E_SINK_PATH', `${path} and ${what} are the same through a link, or one is inside the other; ${remedy}`);
  });
}
