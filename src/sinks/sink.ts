import { LeadstreamError, outputColumn } from '../core/index.js';
import type { Column, MergeCounts, OutputColumn, OutputOptions, Row, SourcePresence, Warning } from '../core/index.js';
import type { Fault, OnError, Page } from '../flow/index.js';
import type { EntryDefinition } from '../options/index.js';
import type { Action, ObjectStores, PathNames } from '../store/index.js';
import { addedColumns, type CatalogOptions, type Published, type TablePart } from '../lake/index.js';
import type { Participant, RunFacts, RunLog } from '../lake/index.js';

/** What a sink receives in addition to its configuration. */
export interface SinkContext {
  /** Name in messages, for example `to[0] parquet`. */
  readonly at: string;
  readonly baseDir: string;
  /** What happens to a row whose value does not cast, unless the sink's `on_error` says otherwise. */
  readonly onError: OnError;
  readonly stdout: NodeJS.WritableStream;
  /** Name of the pipeline, recorded in outputs. */
  readonly pipeline: string;
  /** Unique per run, sortable by time, safe in file names. */
  readonly runId: string;
  /** Key columns of the collection, by their `source`. */
  readonly key: readonly string[];
  /** How stores are reached. Default: by the environment. */
  readonly stores: ObjectStores;
  /** Set if several processes share the run. */
  readonly part?: TablePart | undefined;
  /** Set if the table is published together with others. */
  readonly participant?: Participant | undefined;
  /** What the run knows of its source, for outputs that delete rows. Default: nothing. */
  readonly presence?: SourcePresence | undefined;
  /** Where the run logs manifests. Default: nowhere. */
  readonly runLog?: RunLog | undefined;
  /** The columns that are known before anything is read. Default: none are. */
  readonly planned?: readonly Column[] | undefined;
  /** Private folder for data beyond memory. Default: one in the system's temporary folder. */
  readonly scratch?: string | undefined;
  /** Stops long work after the last row. Given `stores` need it, too. */
  readonly signal?: AbortSignal | undefined;
  /** Receives warnings. Default: they are dropped. */
  readonly warn?: ((warning: Warning) => void) | undefined;
  /** Returns when the run was first started, also after a resume: ISO 8601. */
  firstStart(): string;
  /** Returns the UTC date of the first start of the run, also after a resume: `YYYY-MM-DD`. */
  runDate(): string;
  /** Moves a row to the rejects; the caller counts it. */
  reject(row: Row, fault: Fault): void;
  /** Counts a value that `on_error: null` made `null`. */
  nulled(field: string): void;
}

/** An output that is written and waits for the commit, or is already out (stdout). */
export interface PreparedOutput {
  readonly rows: number;
  readonly bytes: number;
  /** Rows that the output will have: those written by this run and those left in place. */
  readonly total: number;
  /** Rows skipped because the output already has their key, or for a merge all of their content. */
  readonly unchanged: number;
  /** Skipped rows whose content differs from that in the output. */
  readonly changed: number;
  /** What a merge did to the output. */
  readonly merged?: MergeCounts;
  /** Where users find the result; absent for stdout. */
  readonly path?: string;
  /** Writes the manifest, if any, and returns the actions that commit the output, in order. */
  actions(facts: RunFacts): Promise<readonly Action[]>;
  /** Publishes what no action commits; called when only actions remain, for all sinks. @param partial Whether a limit ended the read. */
  commit?(partial: boolean): Promise<void>;
  /** Removes what the commit made obsolete; called after all sinks committed. */
  cleanup(): Promise<void>;
}

export const nothingToCommit: Pick<PreparedOutput, 'actions' | 'cleanup'> = {
  actions: () => Promise.resolve([]),
  cleanup: () => Promise.resolve(),
};

/**
 * An output of one run. Calls come one at a time, in the order `begin` (also without rows), `write`…, then `prepare` or `abort`; `abort`
 * may come at any time. Nothing has its final name before its actions are committed.
 */
export interface SinkWriter {
  /** What was published there before, according to its manifest. */
  readonly earlier?: Published | undefined;
  begin(columns: readonly Column[]): Promise<void>;
  /** Resolves when the rows are stored or in a bounded buffer. */
  write(page: Page): Promise<void>;
  /** Counts the rows so far whose key is new to the output, and those that it has with other content; `undefined` before the first. */
  soFar?(): Promise<Pick<MergeCounts, 'inserted' | 'changed'> | undefined>;
  /** Closes, syncs and verifies, so that only the commit remains. */
  prepare(): Promise<PreparedOutput>;
  abort(): Promise<void>;
}

export interface SinkPlan {
  readonly key: readonly string[];
  /** The step after which a row of the output is no row of the list, or not each of them. */
  readonly apart?: string | undefined;
  problem(path: readonly (string | number)[], message: string): void;
}

export interface OutputPlace {
  readonly baseDir: string;
  readonly names: PathNames;
}

/** The runs that committed to a table of a database, the newest first, with how many rows each left, and how many there are. */
export interface Ledger {
  readonly runs: readonly (MergeCounts & Readonly<Record<'run' | 'mode' | 'committed_at', string>> & { readonly total: number })[];
  readonly rows: number;
}

export interface SinkDefinition<N extends string = string, C = unknown> extends EntryDefinition<N, C> {
  /** Reports what does not fit the arriving columns. The path of a problem starts at the sink's own value. */
  check?(config: C, columns: readonly Column[], plan: SinkPlan): void;
  /** Whether rows are printed immediately and nothing is published. */
  readonly prints?: boolean;
  /** Returns the absolute path that this sink publishes; `undefined` if it publishes elsewhere, or prints. */
  output(config: C, place: OutputPlace): string | undefined;
  /** Returns what identifies the table of a database that is written, without secrets; `undefined` if the database is not known. */
  place?(config: C): string | undefined;
  ledger?(config: C): Promise<Ledger>;
  /** Returns the columns written. */
  writes(config: C, columns: readonly Column[]): readonly OutputColumn[];
  /** Returns what a run may cost that is not obvious, as a sentence that begins with the output. */
  costs?(config: C, at: string): string | undefined;
  /** Returns whether the output can be published together with others. */
  joins?(config: C): boolean;
  /** Returns whether rows are added to an existing output instead of replacing it. */
  adds?(config: C): boolean;
  /** Returns whether an output on this machine commits by itself, as all others do. */
  alone?(config: C): boolean;
  /** Options that hold secrets: a file may only refer to them, and they are never shown. `parts` finds others in them, like passwords. */
  readonly secrets?: readonly { readonly path: readonly string[]; parts?(value: string): readonly string[] }[];
  /** Returns how to reach the catalog that chooses the table's place. */
  catalog?(config: C): CatalogOptions | undefined;
  /** Returns the columns that are in folder names instead of files. */
  folders?(config: C): readonly string[];
  /** Reserves the output before the first request, so that errors come at once. @throws {SinkError} `E_SINK_PATH`, `E_SINK_FOREIGN`. */
  open(config: C, context: SinkContext): Promise<SinkWriter>;
}

/** Declares a sink whose options choose and name the columns. */
export function builtInSink<
  const N extends string,
  C extends OutputOptions & { readonly columns?: readonly string[] | undefined; readonly on_missing?: string; readonly history?: boolean },
>(definition: Omit<SinkDefinition<N, C>, 'writes'>): SinkDefinition<N, C> {
  const writes: SinkDefinition<N, C>['writes'] = ({ columns, ...options }, arriving) => {
    const wanted = columns?.flatMap((name) => arriving.find((column) => column.name === name) ?? []) ?? arriving;
    return [...wanted.map((column) => outputColumn(column, options)), ...addedColumns(options)];
  };
  return { ...definition, writes };
}

/** An output before its columns are known. */
interface OpenedSink {
  readonly earlier?: Published | undefined;
  begin(columns: readonly Column[]): Promise<BegunSink>;
  /** Removes everything written. @param underWay Resolves when the running call, which may still create a file, has ended. */
  abort(underWay: Promise<unknown>): Promise<void>;
}

type BegunSink = Pick<SinkWriter, 'write' | 'soFar' | 'prepare'>;

/**
 * Enforces the order `begin`, `write`…, `prepare`. After a failed call, all others except `abort` fail with the same error, so that an
 * incomplete output is never prepared. `abort` works once, at any time.
 */
export class PhasedWriter implements SinkWriter {
  /** `busy` during a call, and after `prepare`. */
  #phase: 'opened' | 'busy' | BegunSink = 'opened';
  #failure: unknown;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly at: string,
    private readonly opened: OpenedSink,
  ) {}

  get earlier(): Published | undefined {
    return this.opened.earlier;
  }

  async begin(columns: readonly Column[]): Promise<void> {
    await this.#guard(async () => {
      if (this.#phase !== 'opened') throw this.#outOfOrder();
      this.#phase = 'busy';
      this.#phase = await this.opened.begin(columns);
    });
  }

  async write(page: Page): Promise<void> {
    await this.#guard(async () => {
      const begun = this.#begun();
      await begun.write(page);
      this.#phase = begun;
    });
  }

  async soFar() {
    return typeof this.#phase === 'string' ? undefined : this.#phase.soFar?.();
  }

  prepare(): Promise<PreparedOutput> {
    return this.#guard(() => this.#begun().prepare());
  }

  async abort(): Promise<void> {
    this.#failure ??= new LeadstreamError('E_RUN_ABORTED', `${this.at}: was aborted`);
    await this.opened.abort(this.#underWay);
  }

  /** Returns the output, busy from now on. */
  #begun(): BegunSink {
    const begun = this.#phase;
    if (typeof begun === 'string') throw this.#outOfOrder();
    this.#phase = 'busy';
    return begun;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      const call = work();
      this.#underWay = call.catch(() => undefined);
      return await call;
    } catch (thrown) {
      this.#failure = thrown;
      throw thrown;
    }
  }

  #outOfOrder(): LeadstreamError {
    const order = 'begin, write for each page, and prepare or abort';
    return new LeadstreamError('E_RUN_FAILED', `${this.at}: the order of calls is ${order}`);
  }
}
