import type { DeclaredType, Sensitivity } from '../../../core/index.js';
import type { RowCondition } from '../../../steps/index.js';

/** A field of a row. Values are texts, as text formats write them; personal values and credentials are `***`, unless they are revealed. */
export interface RowField {
  readonly name: string;
  readonly type: DeclaredType;
  readonly sensitivity: Sensitivity;
  readonly value: string | null;
}

/** How the record was found. */
export interface RowSearch {
  /** `single read`: asked for by its identifier. `list`: looked for in the list. */
  readonly by: 'single read' | 'list';
  /** Why the list was read, where a single read was tried before. */
  readonly because: string | undefined;
  /** Rows of the list that were looked at; 0 for a single read. */
  readonly looked: number;
}

/** One pair of fields of a join. */
export interface KeyPart {
  readonly left: string;
  readonly right: string;
  /** The value of the row. */
  readonly value: string | null;
  /** What is compared: the same, or the normalised text; `null` for a value that is empty, which never matches. */
  readonly compared: string | null;
  /** Rows of the other side that agree in this field, whatever the others are. */
  readonly agreeing: number;
}

/** What a join made of a row; of several, of the first one without a match, or else of the first. */
export interface RowJoin {
  /** Which of the rows that came, from 1. */
  readonly row: number;
  readonly with: string;
  readonly lookup: 'preload' | 'by_id';
  readonly key: readonly KeyPart[];
  /** What is done with texts before they are compared. */
  readonly normalize: 'casefold' | undefined;
  /** Rows of the other side that were looked at. */
  readonly looked: number;
  readonly matches: number;
  /** Which of several is taken, as the file says. */
  readonly pick: string;
  /** Why nothing matched, in words. */
  readonly miss: string | undefined;
  /** Of all rows that came, those without a match. */
  readonly missed: number;
}

/** What a step made of a row. */
export interface RowPassage {
  /** Like `steps[1] derive`. */
  readonly at: string;
  /**
   * `passed`: a row leaves it; `dropped`: by the step's own rule; `rejected`: a value was unfit; `failed`: the run would fail here; `not reached`: an
   * earlier step took the row out.
   */
  readonly outcome: 'passed' | 'dropped' | 'rejected' | 'failed' | 'not reached';
  /** Why it did not pass, in words; of several rows that it rejects, why the first one is. */
  readonly reason: string | undefined;
  /** Rows that come to the step: a join before it can make several of one. */
  readonly arrived: number;
  /** Rows of these that it rejects. */
  readonly rejected: number;
  /** The expressions of the step. */
  readonly expressions: readonly string[];
  /** The parts that `&&` joins in the condition of a filter, with what each gives for the first row; empty where there is one alone. */
  readonly conditions: readonly RowCondition[];
  /** What these look at. */
  readonly used: readonly RowField[];
  readonly join: RowJoin | undefined;
  /** Fields that the step added or gave another value or type; of the first row. */
  readonly changed: readonly (RowField & { readonly before: string | null | undefined })[];
  /** Fields that it left out. */
  readonly removed: readonly string[];
  /** Rows that leave the step. */
  readonly rows: number;
  /** Values that did not fit and became null. */
  readonly nulled: number;
  /** What a single row does not show here, in words. */
  readonly alone: string | undefined;
}

/** What a sink does with rows, in rows, as the books of a run count it. */
export interface RowOutputCounts {
  readonly written: number;
  /** Rows that an append leaves out, because the output has their key already. */
  readonly unchanged: number;
  /** Those of them whose content is another one than that of the output. */
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
   * What becomes of its rows, the worst of all: `written`; `nulled`: written, with null for what does not fit; `rejected`: written to the rejects instead;
   * `unchanged`: left out, because the output has the key already; `failed`: the run would fail here.
   */
  readonly outcome: 'written' | 'nulled' | 'unchanged' | 'rejected' | 'failed';
  /** Why the run would fail, with the code. */
  readonly reason: string | undefined;
  readonly counts: RowOutputCounts;
  /** By the names of the output; `problem` says why a value does not fit. One list per row, at most 20. */
  readonly rows: readonly (readonly (RowField & { readonly problem: string | undefined })[])[];
}

/** One record on its way through a chain; plain data. */
export interface RowExplanation {
  readonly pipeline: string;
  readonly collection: string;
  readonly search: RowSearch;
  /** The record as the service gave it. */
  readonly record: readonly RowField[];
  readonly steps: readonly RowPassage[];
  /** Rows that come out of the last step. */
  readonly rows: number;
  /** Empty where no row comes out. */
  readonly outputs: readonly RowOutput[];
  /** The gates that refuse a run because of this record alone, whatever the other ones are. */
  readonly gates: readonly RowGate[];
}

/** A gate that a single row is enough for. */
export interface RowGate {
  /** `rejects`, or `expect.…` as in the file. */
  readonly gate: string;
  readonly message: string;
}
