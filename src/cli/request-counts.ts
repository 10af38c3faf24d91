import type { OperationEvent, Watcher } from '../index.js';

/** Attempts that failed in the same way and were repeated. */
export interface RetryCount {
  readonly code: string;
  /** HTTP status, if there was an answer. */
  readonly status?: number;
  readonly count: number;
}

/** What a request is for. */
export type Purpose = OperationEvent<'request'>['purpose'];

/** Counts the requests of a run once for everything that reports them: the status line, the report and the metrics. */
export class RequestCounts {
  readonly #requests = new Map<Purpose, number>();
  readonly #retries = new Map<string, RetryCount>();
  #bytes = 0;

  readonly watcher: Watcher = {
    request: {
      asyncEnd: ({ purpose, bytes = 0 }) => {
        this.#requests.set(purpose, this.of(purpose) + 1);
        this.#bytes += bytes;
      },
    },
    retry: ({ error: { code, status } }) => {
      const key = `${code} ${status ?? ''}`;
      const { count = 0 } = this.#retries.get(key) ?? {};
      this.#retries.set(key, { code, ...(status !== undefined && { status }), count: count + 1 });
    },
  };

  /** Finished attempts for a purpose: answered, failed or given up. */
  of(purpose: Purpose): number {
    return this.#requests.get(purpose) ?? 0;
  }

  /** All attempts, by purpose. */
  get requests(): ReadonlyMap<Purpose, number> {
    return this.#requests;
  }

  get total(): number {
    return sum([...this.#requests.values()]);
  }

  /** Bytes of all answers, after decompression. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Retries, by what made them necessary. */
  get retries(): readonly RetryCount[] {
    return [...this.#retries.values()];
  }

  get totalRetries(): number {
    return sum(this.retries.map(({ count }) => count));
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
