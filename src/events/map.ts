import type { ErrorCode, Warning } from '../core/index.js';

/**
 * The events of leadstream, by name. Each is published on the `node:diagnostics_channel` channel `leadstream:<name>`, and passed to the
 * watchers of its run or connection. Fields may be added, but never renamed. An event has numbers, names and messages: no row, no
 * identifier of a record, no credential.
 */
export interface Moments {
  /** Attempt number `attempt` (from 1) at a request failed, and is repeated after `delayMs`. */
  readonly retry: { readonly url: string; readonly attempt: number; readonly delayMs: number; readonly error: EventError };
  /** A page of a list was read, in page order. `pages` and `read` count the pages and rows of the list so far. */
  readonly page: OfList & { readonly number: number; readonly rows: number; readonly pages: number; readonly read: number };
  /** A list seems to have ended after `read` rows, perhaps too early. It is checked again after `delayMs`. */
  readonly wait: OfList & { readonly read: number; readonly delayMs: number };
  /** A step of a pipeline, for example `steps[1] filter`, returned a page with `rows` rows. */
  readonly step: OfPage;
  readonly warning: Warning;
}

/** A list, and the step that reads it, like `steps[0] join`; `undefined` for the source. */
interface OfList {
  readonly collection: string;
  readonly at: string | undefined;
}

interface OfPage {
  readonly at: string;
  readonly number: number;
  readonly rows: number;
}

/**
 * The operations of leadstream, by name: the facts at the start, and those added at the end. Each is a tracing channel,
 * `tracing:leadstream:<name>:…`. `start` comes first, `error` on failure, and `asyncEnd` always last, also after an abort (`aborted`). All
 * three get the same object, so it can be the key of a `WeakMap` of spans.
 */
export interface Operations {
  /** A run of a pipeline. `writeTo` has only `write`, `finish` and `commit`. */
  readonly run: { readonly begun: { readonly pipeline: string }; readonly done: { readonly pages: number; readonly read: number } };
  /** A list is read, from its first request to its confirmed end. */
  readonly read: {
    readonly begun: OfList & {
      /** Rows that the list had in the last read; `undefined` if unknown. */
      readonly expected: number | undefined;
    };
    readonly done: {
      readonly pages: number;
      /** Rows on these pages, and those added by further passes. */
      readonly read: number;
      readonly repaired: number;
      readonly outcome: string;
    };
  };
  /** One attempt at a request, without the wait for its turn (`concurrency`, `rate_per_second`). */
  readonly request: { readonly begun: RequestBegun; readonly done: RequestDone };
  /** A page is passed to a sink, like `to[0] csv`, until its rows are stored or in a bounded buffer. */
  readonly write: { readonly begun: OfPage; readonly done: object };
  /** The files of a sink are closed, synced and read back. */
  readonly finish: { readonly begun: { readonly at: string }; readonly done: { readonly rows: number; readonly bytes: number } };
  /** The outputs become visible: their absolute paths, and the number of actions. */
  readonly commit: { readonly begun: { readonly outputs: readonly string[]; readonly actions: number }; readonly done: object };
}

/** The name of an event without a duration. */
export type MomentName = keyof Moments;
/** The name of an operation, whose start and end are events. */
export type OperationName = keyof Operations;

/** The owner of an event: `RunReport.runId` of a run, `Service.id` of a connection. */
interface Belongs {
  readonly run: string;
}

/** How an operation ended. Success has neither field. */
interface Ending {
  readonly error?: EventError;
  /** Whether nothing waits for its result any more. */
  readonly aborted?: true;
}

/** The event of a moment. */
export type MomentEvent<N extends MomentName> = Belongs & Moments[N];

/** The event of an operation: the fields of `done` exist only at its end. */
export type OperationEvent<N extends OperationName> = Belongs & Operations[N]['begun'] & Partial<Operations[N]['done']> & Ending;

/** A failure as events report it; errors that are not leadstream's are `UNKNOWN`, with only their class. */
export interface EventError {
  readonly code: ErrorCode | 'UNKNOWN';
  readonly message: string;
  readonly status?: number;
}

export interface RequestBegun {
  /** Origin, path, page and limit: no credentials, and `{id}` in place of a record's identifier. */
  readonly url: string;
  readonly collection: string;
  /** `undefined` if no page was requested. */
  readonly page: number | undefined;
  /** `probe` only checks: its rows do not enter the chain. */
  readonly purpose: 'page' | 'probe' | 'find';
  /** From 1. */
  readonly attempt: number;
}

/** HTTP status, and bytes after decompression; without a response, neither. */
export interface RequestDone {
  readonly status: number;
  readonly bytes: number;
}
