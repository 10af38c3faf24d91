import type { z } from 'zod';
import type { Column, OutputColumn, Row, Warning } from '../core/index.js';
import type { Fault, OnError, Page } from '../flow/index.js';
import type { Action, PathNames } from '../store/index.js';
import type { Published, RunLog, RunFacts } from '../lake/index.js';

/** What a sink gets besides its configuration. */
export interface SinkContext {
  /** Name of the sink in messages, for example `to[0] parquet`. */
  readonly at: string;
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** What becomes of a row whose value does not cast, unless the sink's own `on_error` says otherwise. */
  readonly onError: OnError;
  /** Where the `stdout` sink writes. */
  readonly stdout: NodeJS.WritableStream;
  /** Name of the pipeline, which outputs bear. */
  readonly pipeline: string;
  /** Unique per run, sortable by time, safe in file names. */
  readonly runId: string;
  /** Columns of the collection that together identify a row; rows have them as long as a column with such a `source` is left. */
  readonly key: readonly string[];
  /** Where the run logs its manifests, apart from the tables. Default: nowhere. */
  readonly runLog?: RunLog | undefined;
  /** Private folder for what does not fit into memory; made when it is needed. Default: one in the system's folder for such files. */
  readonly scratch?: string | undefined;
  /** Stops what takes long after the last row. Default: nothing does. */
  readonly signal?: AbortSignal | undefined;
  /** Called with what somebody should look at, although the run goes on. Default: nobody. */
  readonly warn?: ((warning: Warning) => void) | undefined;
  /** UTC date on which the run was first started, also when it was resumed: `YYYY-MM-DD`. */
  runDate(): string;
  /** Takes a row out of this sink and into the rejects; the caller counts it. */
  reject(row: Row, fault: Fault): void;
  /** Counts a value that became `null` under `on_error: null`. */
  nulled(field: string): void;
  /** Called with every value that does not fit, before `on_error` decides what becomes of it. Default: nobody. */
  unfit?(fault: Fault): void;
}

/** What is written to its end and waits for the commit, or is already out (stdout). Counted in rows and bytes. */
export interface PreparedOutput {
  /** Rows that this run wrote. */
  readonly rows: number;
  readonly bytes: number;
  /** Rows that the output will hold: those of this run and those that it leaves in place. */
  readonly total: number;
  /** Rows that were left out because the output has their key already. */
  readonly unchanged: number;
  /** Those of them whose content differs from what the output has. */
  readonly changed: number;
  /** Where a person finds the result; absent for stdout. */
  readonly path?: string;
  /** Writes what describes the output (a manifest), when there is such a thing, and gives what commits it, in order: data first, the link last. */
  actions(facts: RunFacts): Promise<readonly Action[]>;
  /**
   * Publishes what no action commits; called once, when nothing is missing any more but the actions of all sinks.
   *
   * @param partial Whether a limit stopped the read.
   */
  commit?(partial: boolean): Promise<void>;
  /** Removes what the commit made superfluous; called after the commit of all sinks. */
  cleanup(): Promise<void>;
  /**
   * Instead of a commit: puts everything aside for inspection, under names that readers ignore and no later run removes.
   *
   * @returns Where it is; `undefined` when there is nothing to look at.
   */
  quarantine(): Promise<string | undefined>;
}

/**
 * An output of one run. Calls come in the order `begin`, `write`…, then `prepare` or `abort`; `abort` may come at any time.
 * Nothing stands under a final name before its actions are committed.
 */
export interface SinkWriter {
  /** What was published there before; `undefined` when there is none, or it has no manifest. */
  readonly earlier?: Published | undefined;
  /** Fixes the columns. Called once, before the first row, also when there are no rows. */
  begin(columns: readonly Column[]): Promise<void>;
  /** Resolves when the rows are stored or in a bounded buffer. One call at a time. */
  write(page: Page): Promise<void>;
  /** Closes, syncs and verifies; afterwards only the commit is missing. */
  prepare(): Promise<PreparedOutput>;
  /** Removes everything that this run wrote. Never rejects because something is missing. */
  abort(): Promise<void>;
}

/** What a sink can ask while a file is checked, before any request. */
export interface SinkPlan {
  readonly key: readonly string[];
  /** The step that did not pass a column on, by the column. Default: not known. */
  readonly gone?: ReadonlyMap<string, string>;
  /** Whether a value of the configuration, or one within it, is not known here, since its reference stands for nothing. Default: none is. */
  isUnknown?(path: readonly (string | number)[]): boolean;
  problem(path: readonly (string | number)[], message: string): void;
}

/** Where outputs are, and what their paths have for names in braces. */
export interface OutputPlace {
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  readonly names: PathNames;
}

/** A sink as pipeline files know it. */
export interface SinkDefinition<N extends string = string, C = unknown> {
  readonly name: N;
  readonly summary: string;
  /** Of a sink of somebody's own, what its author calls its version; part of the fingerprint. Others have none. */
  readonly version?: string | undefined;
  /** Whether `config` takes numbers, flags and `null` as such, and not as the texts that a file has. Default `false`. */
  readonly takesTyped?: boolean | undefined;
  /** Schema of the configuration. */
  readonly config: () => z.ZodType<C>;
  /** Configurations that are valid; they stand in the reference and are checked by a test. */
  readonly examples: readonly unknown[];
  /** Reports what of the configuration does not fit the columns that arrive; a problem's path starts at the sink's own value. */
  check?(config: C, columns: readonly Column[], plan: SinkPlan): void;
  /** Whether it prints: rows are out as they come, and nothing is published. Default false. */
  readonly prints?: boolean;
  /** Absolute path that this sink publishes; `undefined` for one that publishes elsewhere, or prints. Two sinks may not share one. */
  output(config: C, place: OutputPlace): string | undefined;
  /** The columns that it writes when these arrive. Default: as `columns`, `naming` and `types` of the configuration say. */
  writes?(config: C, columns: readonly Column[]): readonly OutputColumn[];
  /** Whether the rows are added to those of an output that exists, which otherwise is replaced. Default false. */
  adds?(config: C): boolean;
  /** What it holds in memory beyond a page, in words. Default: nothing. */
  holds?(config: C): string | undefined;
  /** The columns that are in names of folders, and not in the files. Default: none. */
  folders?(config: C): readonly string[];
  /**
   * Reserves the output before the first request: makes the partial file or folder, so that a destination that cannot
   * be written is told at once.
   *
   * @throws {SinkError} `E_SINK_PATH` or `E_SINK_FOREIGN`.
   */
  open(config: C, context: SinkContext): Promise<SinkWriter>;
  /**
   * Opens a writer that takes rows as that of `open` does, and refuses the same ones for the same reasons, but reserves and stores nothing at
   * the output. What stands there is looked at. It is always aborted.
   *
   * @throws {SinkError} As `open`, for what stands at the output.
   */
  rehearse(config: C, context: SinkContext): Promise<SinkWriter>;
}

/** Declares a sink for pipeline files. */
export function defineSink<const N extends string, C>(definition: SinkDefinition<N, C>): SinkDefinition<N, C> {
  return definition;
}
