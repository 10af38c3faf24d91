import type { z } from 'zod';
import type { Column, Row } from '../collections/index.js';
import type { Fault, OnError, Page } from '../flow/index.js';
import type { Move } from '../files/index.js';

/** How a sink names its columns: as the service does, or in snake_case. */
export type Naming = 'original' | 'snake_case';

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
  /** Unique per run, sortable by time, safe in file names. */
  readonly runId: string;
  /** Takes a row out of this sink and into the rejects; the caller counts it. */
  reject(row: Row, fault: Fault): void;
  /** Counts a value that became `null` under `on_error: null`. */
  nulled(field: string): void;
}

/** What lies ready to be published, or is already out (stdout). Counted in rows and bytes. */
export interface Staged {
  readonly rows: number;
  readonly bytes: number;
  /** Where a person finds the result; absent for stdout. */
  readonly path?: string;
  /** Writes what describes the output (a manifest), when there is such a thing, and gives the renames that publish it, in order. */
  publication(facts: RunFacts): Promise<readonly Move[]>;
  /** Removes what the publication made superfluous; called after the renames of all sinks. */
  settle(): Promise<void>;
}

/** What a manifest says of the run as a whole. */
export interface RunFacts {
  readonly runId: string;
  readonly pipeline: string;
  /** SHA-256 over the pipeline's specification without secrets, in hexadecimal. */
  readonly fingerprint: string;
  readonly collection: string;
  readonly pages: number;
  readonly startedAt: string;
  /** How complete the read is: the outcome of its check. */
  readonly consistency: string;
  /** The books of the run, per sink. */
  readonly books: Readonly<Record<string, unknown>>;
}

/**
 * An output of one run. Calls come in the order `begin`, `write`…, then `finish` or `abort`; `abort` may come at any time.
 * Nothing stands under a final name before the moves of `publication` are done.
 */
export interface SinkWriter {
  /** Fixes the columns. Called once, before the first row, also when there are no rows. */
  begin(columns: readonly Column[]): Promise<void>;
  /** Resolves when the rows are stored or in a bounded buffer. One call at a time. */
  write(page: Page): Promise<void>;
  /** Closes, syncs and verifies; afterwards only renames are missing. */
  finish(): Promise<Staged>;
  /** Removes everything that this run wrote. Never rejects because something is missing. */
  abort(): Promise<void>;
}

/** A sink as pipeline files know it. */
export interface SinkDefinition<N extends string = string, C = unknown> {
  readonly name: N;
  readonly summary: string;
  readonly config: z.ZodType<C>;
  /** Configurations that are valid; they stand in the reference and are checked by a test. */
  readonly examples: readonly unknown[];
  /** Absolute path that this sink will publish; `undefined` for stdout. Two sinks may not share one. */
  output(config: C, baseDir: string): string | undefined;
  /**
   * Reserves the output before the first request: makes the partial file or folder, so that a destination that cannot
   * be written is told at once.
   *
   * @throws {SinkError} `E_SINK_PATH` or `E_SINK_FOREIGN`.
   */
  open(config: C, context: SinkContext): Promise<SinkWriter>;
}

/** Declares a sink for pipeline files. */
export function defineSink<const N extends string, C>(definition: SinkDefinition<N, C>): SinkDefinition<N, C> {
  return definition;
}
