import type { ErrorCode, Warning } from '../core/index.js';

/**
 * The events of leadstream, by name. Each is published on a channel of `node:diagnostics_channel`, `leadstream:<name>`, and handed to
 * the watchers of its run or connection. Names and fields are public: fields are added, never renamed.
 *
 * An event holds numbers, names and messages: no row, no identifier of a record, and no credential. It is a copy; nothing that is done to
 * it reaches the run.
 */
export interface Moments {
  /** An attempt at a request failed, and will be repeated. */
  readonly retry: RetryFacts;
  /** A page of a list was read: once for each, in page order, as it came. */
  readonly page: PageFacts;
  /** A list seems to have ended where it may not, and is looked at again when `endWaitMs` has passed. */
  readonly wait: WaitFacts;
  /** A page came out of a step of a pipeline. */
  readonly step: StepFacts;
  /** Something was recognised that is no failure. */
  readonly warning: Warning;
}

/**
 * The operations of leadstream, by name: what they are when they begin, and what is known besides when they end.
 *
 * Each is a tracing channel, `tracing:leadstream:<name>:…`. `start` comes first; `error` when it failed; `asyncEnd` last, always, also when
 * the operation was given up (`aborted`). All three get the same object, so that it can be the key of a `WeakMap` of spans.
 */
export interface Operations {
  /** A run of a pipeline. One of `writeTo` has `write`, `finish` and `commit` alone. */
  readonly run: { readonly begun: RunBegun; readonly done: RunDone };
  /** The reading of a list, from its first request to its confirmed end. */
  readonly read: { readonly begun: ReadBegun; readonly done: ReadDone };
  /** One attempt at a request. Waiting for a turn (`concurrency`, `rate_per_second`) comes before it. */
  readonly request: { readonly begun: RequestBegun; readonly done: RequestDone };
  /** A page is handed to a sink, until its rows are stored or in a bounded buffer. */
  readonly write: { readonly begun: WriteBegun; readonly done: object };
  /** The files of a sink are closed, synced and read back. */
  readonly finish: { readonly begun: FinishBegun; readonly done: FinishDone };
  /** What a run has decided to publish becomes visible. */
  readonly commit: { readonly begun: CommitBegun; readonly done: object };
}

/** The name of an event that is told once, when it happens. */
export type MomentName = keyof Moments;
/** The name of something that begins and ends, and is told when it does. */
export type OperationName = keyof Operations;

/** Whose an event is. */
export interface Belongs {
  /** `RunReport.runId` of a run, `Service.id` of a connection; other ids for other ones, in one process and in several. */
  readonly run: string;
}

/** How an operation ended. Both are missing when it did what it should. */
export interface Ending {
  readonly error?: EventError;
  /** Whether nobody waits for it any more. */
  readonly aborted?: true;
}

/** An event of one moment. */
export type MomentEvent<N extends MomentName> = Belongs & Moments[N];

/** The event of an operation: what it has `done` is there at its end only. */
export type OperationEvent<N extends OperationName> = Belongs & Operations[N]['begun'] & Partial<Operations[N]['done']> & Ending;

/** A failure as an event tells it. */
export interface EventError {
  /** `UNKNOWN` for what is no failure of leadstream's, like an error of a function that a program gave. */
  readonly code: ErrorCode | 'UNKNOWN';
  /** Of an unknown one only its class: the message may say anything. */
  readonly message: string;
  /** HTTP status, when there was an answer. */
  readonly status?: number;
}

export interface RetryFacts {
  /** Of the request, as in its own event. */
  readonly url: string;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Milliseconds until the next one may start. */
  readonly delayMs: number;
  readonly error: EventError;
}

export interface PageFacts {
  readonly collection: string;
  /** The step that reads the list, for example `steps[0] join`; `undefined` for the source of a run, and of a connection. */
  readonly at: string | undefined;
  readonly number: number;
  /** Rows of the page. */
  readonly rows: number;
  /** Pages of the list that were read so far, this one included. */
  readonly pages: number;
  /** Rows of the list that were read so far. */
  readonly read: number;
}

export interface WaitFacts {
  readonly collection: string;
  /** As in `page`. */
  readonly at: string | undefined;
  /** Rows of the list that were read so far. */
  readonly read: number;
  /** Milliseconds until the second look: `endWaitMs`. */
  readonly delayMs: number;
}

export interface StepFacts {
  /** Name of the step, for example `steps[1] filter`. */
  readonly at: string;
  /** Number of the page. */
  readonly number: number;
  /** Rows that the page has now. */
  readonly rows: number;
}

export interface RunBegun {
  /** Name of the pipeline. */
  readonly pipeline: string;
}

export interface RunDone {
  readonly pages: number;
  /** Rows read. */
  readonly read: number;
}

export interface ReadBegun {
  readonly collection: string;
  /** As in `page`. */
  readonly at: string | undefined;
  /** Rows that the list had when it was read last; `undefined` where nothing tells. */
  readonly expected: number | undefined;
}

export interface ReadDone {
  readonly pages: number;
  /** Rows on these pages. */
  readonly read: number;
  /** What the check of the list found, as in `Consistency`. */
  readonly outcome: string;
  /** Rows that further passes added. */
  readonly repaired: number;
}

export interface RequestBegun {
  /** Origin, path, page and limit: no credentials, and `{id}` where a record is asked for by its identifier. */
  readonly url: string;
  readonly collection: string;
  /** Number of the page; `undefined` where none was asked for. */
  readonly page: number | undefined;
  /** `probe` only checks, and gives no rows to the chain. */
  readonly purpose: 'page' | 'probe' | 'find';
  /** From 1. */
  readonly attempt: number;
}

/** Missing when there was no answer. */
export interface RequestDone {
  /** HTTP status. */
  readonly status: number;
  /** Bytes of the answer after decompression. */
  readonly bytes: number;
}

export interface WriteBegun {
  /** Name of the sink, for example `to[0] csv`; of `writeTo` its own. */
  readonly at: string;
  /** Number of the page. */
  readonly number: number;
  readonly rows: number;
}

export interface FinishBegun {
  readonly at: string;
}

export interface FinishDone {
  /** Rows that the run wrote. */
  readonly rows: number;
  readonly bytes: number;
}

export interface CommitBegun {
  /** Absolute paths. */
  readonly outputs: readonly string[];
  /** How many actions make the outputs visible. */
  readonly actions: number;
}
