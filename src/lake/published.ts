import type { OutputColumn } from '../core/index.js';

/** A field of the service that its document does not list. */
export interface UndeclaredField {
  /** Name in rows, where the chain begins. */
  readonly name: string;
  /** The service's own name. */
  readonly original: string;
}

/** What stands at a destination now, as its manifest tells. */
export interface Published {
  readonly runId: string;
  readonly rows: number;
  readonly columns: readonly OutputColumn[];
  /** `RunFacts.undeclared` of the run that published it; empty when its manifest does not say. */
  readonly undeclared: readonly UndeclaredField[];
  /** `RunFacts.reads` of the run that published it; empty when its manifest does not say. */
  readonly reads: Readonly<Record<string, number>>;
  /** Whether it is the part of a read that a limit stopped. */
  readonly partial: boolean;
}

/** What a manifest says of the run as a whole. */
export interface RunFacts {
  readonly pipeline: string;
  /** SHA-256 over the pipeline's specification without secrets, in hexadecimal. */
  readonly fingerprint: string;
  readonly collection: string;
  readonly pages: number;
  readonly startedAt: string;
  /** How complete the read is: the outcome of its check. */
  readonly consistency: string;
  /** Whether a limit stopped the read. Default false. */
  readonly partial?: boolean;
  /** The books of the run, per sink. */
  readonly books: Readonly<Record<string, unknown>>;
  /** Undeclared fields that were columns of this run or came too late for that: those of the next run have a place for all of them. */
  readonly undeclared?: readonly UndeclaredField[];
  /** Rows of all lists that were read, by collection. */
  readonly reads?: Readonly<Record<string, number>>;
}
