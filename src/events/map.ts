import type { ErrorCode, Warning } from '../core/index.js';

/**
 * The events of leadstream, by name. Each is published on the `node:diagnostics_channel` channel `leadstream:<name>`, and passed to the
 * watchers of its run or connection. Names and fields are public: fields are added, never renamed.
 *
 * An event contains numbers, names and messages: no row, no identifier of a record, and no credential. It is a copy, so changing it does
 * not affect the run.
 */
export interface Moments {
  /** An attempt at a request failed and will be repeated. */
  readonly retry: {
    /** URL of the request, as in its own event. */
    readonly url: string;
    /** Number of the attempt that failed, from 1. */
    readonly attempt: number;
    /** Milliseconds until the next one may start. */
    readonly delayMs: number;
    readonly error: EventError;
  };
  /** A page of a list was read: once for each page, in page order, as received. */
  readonly page: {
    readonly collection: string;
    /** The step that reads the list, for example `steps[0] join`; `undefined` for the source of a run, and of a connection. */
    readonly at: string | undefined;
    readonly number: number;
    /** Rows of the page. */
    readonly rows: number;
    /** Pages of the list read so far, including this one. */
    readonly pages: number;
    /** Rows of the list read so far. */
    readonly read: number;
  };
  /** A list seems to have ended, perhaps too early. It is re-checked after `endWaitMs`. */
  readonly wait: {
    readonly collection: string;
    /** As in `page`. */
    readonly at: string | undefined;
    /** Rows of the list read so far. */
    readonly read: number;
    /** Milliseconds until the re-check: `endWaitMs`. */
    readonly delayMs: number;
  };
  /** A page came out of a step of a pipeline. */
  readonly step: {
    /** Name of the step, for example `steps[1] filter`. */
    readonly at: string;
    /** Number of the page. */
    readonly number: number;
    /** Rows that the page has after the step. */
    readonly rows: number;
  };
  /** Something worth reporting happened that is not a failure. */
  readonly warning: Warning;
}

/**
 * The operations of leadstream, by name: the facts at the beginning, and those added at the end.
 *
 * Each is a tracing channel, `tracing:leadstream:<name>:…`. `start` comes first, `error` if it failed, and `asyncEnd` always comes last,
 * even if the operation was aborted (`aborted`). All three get the same object, so it can be the key of a `WeakMap` of spans.
 */
export interface Operations {
  /** A run of a pipeline. A `writeTo` has only `write`, `finish` and `commit`. */
  readonly run: {
    readonly begun: {
      /** Name of the pipeline. */
      readonly pipeline: string;
    };
    readonly done: {
      readonly pages: number;
      /** Rows read. */
      readonly read: number;
    };
  };
  /** A list is read, from its first request to its confirmed end. */
  readonly read: {
    readonly begun: {
      readonly collection: string;
      /** As in `page`. */
      readonly at: string | undefined;
      /** Rows that the list had when it was last read; `undefined` if unknown. */
      readonly expected: number | undefined;
    };
    readonly done: {
      readonly pages: number;
      /** Rows on these pages. */
      readonly read: number;
      /** The result of the consistency check, as in `Consistency`. */
      readonly outcome: string;
      /** Rows added by further passes. */
      readonly repaired: number;
    };
  };
  /** One attempt at a request. Waiting for a turn (`concurrency`, `rate_per_second`) comes before it. */
  readonly request: { readonly begun: RequestBegun; readonly done: RequestDone };
  /** A page is passed to a sink, until its rows are stored or in a bounded buffer. */
  readonly write: {
    readonly begun: {
      /** Name of the sink, for example `to[0] csv`; in a `writeTo`, the sink's own name. */
      readonly at: string;
      /** Number of the page. */
      readonly number: number;
      readonly rows: number;
    };
    readonly done: object;
  };
  /** The files of a sink are closed, synced and read back. */
  readonly finish: {
    readonly begun: {
      readonly at: string;
    };
    readonly done: {
      /** Rows that the run wrote. */
      readonly rows: number;
      readonly bytes: number;
    };
  };
  /** The outputs that a run decided to publish become visible. */
  readonly commit: {
    readonly begun: {
      /** Absolute paths. */
      readonly outputs: readonly string[];
      /** Number of actions that make the outputs visible. */
      readonly actions: number;
    };
    readonly done: object;
  };
}

/** The name of an event that is published once, when it happens. */
export type MomentName = keyof Moments;
/** The name of an operation, whose start and end are published. */
export type OperationName = keyof Operations;

/** The owner of an event. */
export interface Belongs {
  /** `RunReport.runId` of a run, `Service.id` of a connection; unique within and across processes. */
  readonly run: string;
}

/** How an operation ended. Both are missing after success. */
export interface Ending {
  readonly error?: EventError;
  /** Whether the operation was aborted because nothing waits for its result any more. */
  readonly aborted?: true;
}

/** An event of one moment. */
export type MomentEvent<N extends MomentName> = Belongs & Moments[N];

/** The event of an operation: the fields of `done` are present only at its end. */
export type OperationEvent<N extends OperationName> = Belongs & Operations[N]['begun'] & Partial<Operations[N]['done']> & Ending;

/** A failure as events report it. */
export interface EventError {
  /** `UNKNOWN` for errors that are not leadstream's, such as those thrown by a program's function. */
  readonly code: ErrorCode | 'UNKNOWN';
  /** For an unknown error only its class: the message may contain anything. */
  readonly message: string;
  /** HTTP status, if there was a response. */
  readonly status?: number;
}

export interface RequestBegun {
  /** Origin, path, page and limit: no credentials, and `{id}` where a record is requested by its identifier. */
  readonly url: string;
  readonly collection: string;
  /** Number of the page; `undefined` if none was requested. */
  readonly page: number | undefined;
  /** `probe` only checks, and adds no rows to the chain. */
  readonly purpose: 'page' | 'probe' | 'find';
  /** From 1. */
  readonly attempt: number;
}

/** Missing if there was no response. */
export interface RequestDone {
  /** HTTP status. */
  readonly status: number;
  /** Bytes of the response after decompression. */
  readonly bytes: number;
}
