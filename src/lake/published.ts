import type { OutputColumn } from '../core/index.js';

/** A field that the service returns but does not document. */
export interface UndeclaredField {
  /** Name in rows at the start of the chain. */
  readonly name: string;
  /** The service's own name. */
  readonly original: string;
}

/** What a destination holds now, according to its manifest. */
export interface Published {
  readonly runId: string;
  readonly rows: number;
  readonly columns: readonly OutputColumn[];
  /** `RunFacts.undeclared` of the run that published it; empty if its manifest does not have it. */
  readonly undeclared: readonly UndeclaredField[];
  /** `RunFacts.reads` of the run that published it; empty if its manifest does not have it. */
  readonly reads: Readonly<Record<string, number>>;
  /** Whether it is incomplete because a limit stopped the read. */
  readonly partial: boolean;
}

/** The facts about a whole run in a manifest. */
export interface RunFacts {
  readonly pipeline: string;
  /** SHA-256 of the pipeline's specification without secrets, in hexadecimal. */
  readonly fingerprint: string;
  readonly collection: string;
  readonly pages: number;
  readonly startedAt: string;
  /** Completeness of the read: the outcome of its check. */
  readonly consistency: string;
  /** Whether a limit stopped the read. Default false. */
  readonly partial?: boolean;
  /** The row counts of the run, by sink. */
  readonly books: Readonly<Record<string, unknown>>;
  /** Undeclared fields that were columns of this run or appeared too late for that. The next run has columns for all of them. */
  readonly undeclared?: readonly UndeclaredField[];
  /** Rows of all lists that were read, by collection. */
  readonly reads?: Readonly<Record<string, number>>;
}
