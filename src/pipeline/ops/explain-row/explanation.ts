import type { DeclaredType, Sensitivity } from '../../../core/index.js';
import type { RowCondition } from '../../../steps/index.js';

/** A field of a row. Values are texts, as in text formats; personal values and credentials are `***`, unless revealed. */
export interface RowField {
  readonly name: string;
  readonly type: DeclaredType;
  readonly sensitivity: Sensitivity;
  readonly value: string | null;
}

/** How the record was found. */
export interface RowSearch {
  /** `single read`: requested by its identifier. `list`: searched in the list. */
  readonly by: 'single read' | 'list';
  /** Why the list was read, if a single read was tried before. */
  readonly because: string | undefined;
  /** Number of rows of the list that were searched; 0 for a single read. */
  readonly looked: number;
}

/** A pair of fields of a join. */
export interface KeyPart {
  readonly left: string;
  readonly right: string;
  /** The value of the row. */
  readonly value: string | null;
  /** The text that is compared, normalized if so configured; `null` for an empty value, which never matches. */
  readonly compared: string | null;
  /** Number of rows of the other side that agree in this field, regardless of the other fields. */
  readonly agreeing: number;
}

/** The result of a join for a row. If there are several rows: for the first one without a match, or else for the first. */
export interface RowJoin {
  /** Number of the row among those that arrived, from 1. */
  readonly row: number;
  readonly with: string;
  readonly lookup: 'preload' | 'by_id';
  readonly key: readonly KeyPart[];
  /** How texts are normalized before they are compared. */
  readonly normalize: 'casefold' | undefined;
  /** Number of rows of the other side that were examined. */
  readonly looked: number;
  readonly matches: number;
  /** Which of several matches is taken, according to the file. */
  readonly pick: string;
  /** Why nothing matched, in words. */
  readonly miss: string | undefined;
  /** Number of rows without a match, among all that arrived. */
  readonly missed: number;
}

/** The result of a step for a row. */
export interface RowPassage {
  /** Like `steps[1] derive`. */
  readonly at: string;
  /**
   * `passed`: a row leaves it; `dropped`: removed by the step's own rule; `rejected`: a value did not fit; `failed`: the run
   * would fail here; `not reached`: an earlier step removed the row.
   */
  readonly outcome: 'passed' | 'dropped' | 'rejected' | 'failed' | 'not reached';
  /** Why it did not pass, in words; if several rows are rejected, the reason for the first. */
  readonly reason: string | undefined;
  /** Rows that arrive at the step: a join before it can turn one row into several. */
  readonly arrived: number;
  /** How many of these it rejects. */
  readonly rejected: number;
  /** The expressions of the step. */
  readonly expressions: readonly string[];
  /** The parts joined by `&&` in the condition of a filter, with the result of each for the first row; empty if there is only one part. */
  readonly conditions: readonly RowCondition[];
  /** The fields used by these. */
  readonly used: readonly RowField[];
  readonly join: RowJoin | undefined;
  /** Fields of the first row that the step added, or whose value or type it changed. */
  readonly changed: readonly (RowField & { readonly before: string | null | undefined })[];
  /** Fields that it removed. */
  readonly removed: readonly string[];
  /** Rows that leave the step. */
  readonly rows: number;
  /** Values that did not fit and became null. */
  readonly nulled: number;
  /** What cannot be seen from a single row, in words. */
  readonly alone: string | undefined;
}

/** What a sink does with rows, in rows, as counted in the books of a run. */
export interface RowOutputCounts {
  readonly written: number;
  /** Rows that an append skips, because the output already has their key. */
  readonly unchanged: number;
  /** Skipped rows whose content differs from that in the output. */
  readonly changed: number;
  readonly rejected: number;
  /** Values that become null. */
  readonly nulled: number;
}

/** What a sink would write. */
export interface RowOutput {
  /** Like `to[0] csv`. */
  readonly at: string;
  readonly path: string | undefined;
  /**
   * The worst outcome of its rows. `written`; `nulled`: written, with null for values that do not fit; `rejected`: written to the rejects instead; `unchanged`:
   * skipped, because the output already has the key; `failed`: the run would fail here.
   */
  readonly outcome: 'written' | 'nulled' | 'unchanged' | 'rejected' | 'failed';
  /** Why the run would fail, with the error code. */
  readonly reason: string | undefined;
  readonly counts: RowOutputCounts;
  /** The fields by their names in the output; `problem` explains why a value does not fit. One list per row, at most 20. */
  readonly rows: readonly (readonly (RowField & { readonly problem: string | undefined })[])[];
}

/** The path of one record through a pipeline; plain data. */
export interface RowExplanation {
  readonly pipeline: string;
  readonly collection: string;
  readonly search: RowSearch;
  /** The record as returned by the service. */
  readonly record: readonly RowField[];
  readonly steps: readonly RowPassage[];
  /** Number of rows that leave the last step. */
  readonly rows: number;
  /** Empty if no row leaves the last step. */
  readonly outputs: readonly RowOutput[];
  /** The gates that refuse a run because of this record alone, regardless of all others. */
  readonly gates: readonly RowGate[];
}

/** A gate for which a single row is sufficient. */
export interface RowGate {
  /** `rejects`, or `expect.…` as in the file. */
  readonly gate: string;
  readonly message: string;
}
