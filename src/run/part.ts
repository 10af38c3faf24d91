import type { Observable } from 'rxjs';
import type { Row } from '../core/index.js';
import type { Page } from '../flow/index.js';
import type { TablePart, UndeclaredField } from '../lake/index.js';
import type { CollectionReader, ReadingOptions } from '../source/index.js';
import type { Expectations } from './gates.js';
import type { Ledger } from './ledger.js';
import type { RunOutputs } from './outputs.js';
import type { Rejects } from './rejects.js';
import type { RunReport } from './report.js';

/** What a process has when all of its rows are written. */
export interface GatheredPart {
  readonly ledger: Ledger;
  /** By sink with a `where`; `undefined` for all others. */
  readonly expectations: ReadonlyMap<string | undefined, Expectations>;
  readonly outputs: RunOutputs['opened'];
  readonly rejects: Rejects;
}

/** Returns what is counted of rows, in an order that is the same in all processes. */
export function countsOf({ ledger, expectations, outputs }: GatheredPart): readonly object[] {
  const { source, steps, lookups } = ledger;
  const tallies = [source, ...steps].map(({ tally }) => tally);
  return [...tallies, ...[...lookups, ...outputs, ...expectations.values()].map(({ counts }) => counts)];
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
  pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: Ledger): Observable<Page>;
  /** Returns the rows of the other side of a join. @param read$ Its rows as the service has them. @param used The fields that the step needs. */
  side(side: Ledger['sides'][number], read$: Observable<Page>, used: readonly string[]): Observable<Page>;
  /** Adds what the other processes counted. */
  gather?(part: GatheredPart): Promise<void>;
  /** Called when everything is published. */
  published?(report: RunReport): Promise<void>;
  /** Stores what this process did, instead of publishing it. */
  deliver?(part: GatheredPart): Promise<void>;
}
