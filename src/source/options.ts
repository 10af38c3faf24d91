import type { Observable } from 'rxjs';
import type { ConsistencyMode } from '../core/index.js';
import type { Page } from '../flow/index.js';
import { bounds, callable, consistencyModes, defaults, flag, number, numberOrInfinity, oneOf, type Checks } from '../options/index.js';
import type { PagingOptions } from './paging.js';

/** How a collection is read. */
export interface ReadingOptions extends PagingOptions {
  /** Pages in memory at once. Default: twice the concurrency. */
  readonly window?: number | undefined;
  /** Requests in flight at once. Default 4. */
  readonly concurrency?: number | undefined;
  /** How the read is checked for rows that moved while it went on. Default of `readPages`: `off`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Most passes of `repair` and `prove`. Default 8, of a list without a stable order 30. */
  readonly maxPasses?: number | undefined;
  /**
   * How long an end that may be an outage is let rest before it is looked at again, in milliseconds: one where nothing is, and one behind
   * a full page. Default 5,000.
   */
  readonly endWaitMs?: number | undefined;
  /** Rows that the list had when it was read last; an end before them waits, and one behind them does not. Default: not known. */
  readonly expectedRows?: number | undefined;
  /** Called at the confirmed end of the list with a way to find out later whether rows have come behind it. */
  readonly onEnd?: ((hasMore: () => Observable<boolean>) => void) | undefined;
  /**
   * Whether the end is looked at once more when every page was released, so that what came meanwhile is read as well. Only for
   * chains that release what they get: others would wait for ever. Default false.
   */
  readonly lookAgain?: boolean | undefined;
  /** The step that reads the list, for events. Default: none, it is the source. */
  readonly at?: string | undefined;
  /** Takes every page of the list as it came, before the check. Counts may rest on it: it is no event. */
  readonly onPage?: ((page: Page) => void) | undefined;
}

/** How one read differs from what `connect` was told. */
export interface ReadOptions<Reveal extends string = string, Field extends string = string> {
  /** Credential-like fields that are wanted all the same. Default: none. */
  readonly reveal?: readonly Reveal[] | undefined;
  /** The fields that are wanted, in this order, at least one. Default: all, and those that the service has and nobody declared. */
  readonly fields?: readonly Field[] | undefined;
  /** Stops the read with an error, `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** How the list is checked for rows that move while it is read. Default: that of `connect`, else `check`, and `repair` under `writeTo`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Whether a list that drifted fails. Default: that of `connect`. */
  readonly strict?: boolean | undefined;
  /** Whether a list that no number of passes made sure of ends its stream all the same. Default: that of `connect`. */
  readonly allowUnstable?: boolean | undefined;
}

/** How single records are looked for. */
export interface FindOptions {
  /** Stops the request; the promise is rejected with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of reading that callers give in code. */
export const readingChecks: Checks = {
  window: number(bounds.window),
  concurrency: number(bounds.concurrency),
  firstPage: number(bounds.firstPage),
  maxPages: numberOrInfinity(bounds.maxPages),
  maxPasses: number(bounds.maxPasses),
  endWaitMs: number(bounds.endWaitMs),
  consistency: oneOf(consistencyModes),
  strict: flag,
  onEnd: callable,
};

/** Pages in memory at once. */
export function windowOf({ concurrency = defaults.concurrency, window = 2 * concurrency }: ReadingOptions): number {
  return window;
}

/** How long an end rests before it is looked at again, in milliseconds. */
export function endWaitOf({ endWaitMs = defaults.endWaitMs }: ReadingOptions): number {
  return endWaitMs;
}
