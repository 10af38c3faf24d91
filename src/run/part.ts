import type { Observable } from 'rxjs';
import type { Consistency, Row } from '../core/index.js';
import type { Page, Tally } from '../flow/index.js';
import type { TablePart, UndeclaredField } from '../lake/index.js';
import type { CollectionReader, Findings, ReadingOptions } from '../source/index.js';
import type { LookupCounts } from '../steps/index.js';
import type { Rejects } from './rejects.js';
import type { RunReport } from './report.js';

/** What a process counts. */
export interface PartCounts {
  readonly consistency: Consistency;
  readonly source: { pages: number; rows: number; readonly tally: Tally; readonly findings: Findings };
  readonly steps: readonly { readonly tally: Tally }[];
  readonly sides: { at: string; collection: string; rows: number; consistency: Consistency; findings: Findings }[];
  readonly lookups: readonly { readonly counts: LookupCounts }[];
}

/** What a process has when all of its rows are written. */
export interface GatheredPart {
  readonly ledger: PartCounts;
  /** By sink with a `where`; `undefined` for all others. */
  readonly expectations: ReadonlyMap<string | undefined, { readonly counts: readonly number[]; add(counts: readonly number[]): void }>;
  readonly outputs: readonly { readonly at: string; readonly counts: Tally }[];
  readonly rejects: Rejects;
}

/** What a process does of a run that several share; `src/shards` makes it. */
export interface RunPart {
  readonly table: TablePart;
  /** When the run was planned, ISO 8601: the clock of all processes. */
  readonly startedAt: string;
  /** The undeclared fields that have a column; those that come later get theirs in the next run. */
  readonly undeclared?: readonly UndeclaredField[];
  /** Path of the rejects of a shard. */
  readonly rejects?: string;
  /** Reads what this process is to read of the list. */
  pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: PartCounts): Observable<Page>;
  /** Returns the rows of the other side of a join, as the plan stored them. */
  side?(at: string, ledger: PartCounts): Observable<Page>;
  /** Adds what the other processes counted. */
  gather?(part: GatheredPart): Promise<void>;
  /** Called when everything is published. */
  published?(report: RunReport): Promise<void>;
  /** Stores what this process did, instead of publishing it. */
  deliver?(part: GatheredPart): Promise<void>;
}
