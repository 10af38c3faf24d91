/** Throughput and latency over time: what happened in each of at most 120 intervals of equal length. */
export interface Timeline {
  /** Length of an interval in milliseconds. */
  readonly intervalMs: number;
  readonly intervals: readonly Interval[];
}

export interface Interval {
  /** Rows of the source that were read. */
  readonly rows: number;
  /** Requests that were answered, or failed. */
  readonly requests: number;
  readonly retries: number;
  /** Milliseconds that these requests took in total, and the longest of them. */
  readonly latencyMs: number;
  readonly longestMs: number;
}

const [most, firstMs] = [120, 250];
const nothing: Interval = { rows: 0, requests: 0, retries: 0, latencyMs: 0, longestMs: 0 };

/** Fills the intervals. If there are too many, it merges them in pairs. */
export class TimelineBuilder {
  #intervalMs = firstMs;
  #intervals: Interval[] = [];

  /** @param at Milliseconds since the start. */
  add(at: number, more: Partial<Interval>): void {
    while (at >= most * this.#intervalMs) this.#halve();
    const index = Math.floor(at / this.#intervalMs);
    while (this.#intervals.length <= index) this.#intervals.push(nothing);
    this.#intervals[index] = sum(this.#intervals[index] ?? nothing, { ...nothing, ...more });
  }

  timeline(): Timeline {
    return { intervalMs: this.#intervalMs, intervals: this.#intervals };
  }

  #halve(): void {
    this.#intervalMs *= 2;
    this.#intervals = this.#intervals.flatMap((interval, index) =>
      index % 2 === 0 ? [sum(interval, this.#intervals[index + 1] ?? nothing)] : [],
    );
  }
}

function sum(a: Interval, b: Interval): Interval {
  return {
    rows: a.rows + b.rows,
    requests: a.requests + b.requests,
    retries: a.retries + b.retries,
    latencyMs: a.latencyMs + b.latencyMs,
    longestMs: Math.max(a.longestMs, b.longestMs),
  };
}
