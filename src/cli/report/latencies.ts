/** Resolution of latencies: each is within 5 % of what is reported. */
const growth = Math.log(1.05);

/** Collects how long requests took. Memory: one count for each 5 % between the shortest and the longest. */
export class Latencies {
  readonly #counts = new Map<number, number>();
  #requests = 0;
  #max = 0;

  add(ms: number): void {
    const step = Math.round(Math.log(Math.max(ms, 0.1)) / growth);
    this.#counts.set(step, (this.#counts.get(step) ?? 0) + 1);
    this.#requests += 1;
    this.#max = Math.max(this.#max, ms);
  }

  /** Returns latencies in milliseconds; `undefined` without a request. */
  summary(): LatencySummary | undefined {
    if (this.#requests === 0) return undefined;
    return { median: this.#quantile(0.5), p95: this.#quantile(0.95), max: rounded(this.#max) };
  }

  #quantile(share: number): number {
    const ascending = [...this.#counts].toSorted(([a], [b]) => a - b);
    let left = share * this.#requests;
    const step = ascending.find(([, count]) => (left -= count) <= 0)?.[0] ?? 0;
    return rounded(Math.min(this.#max, Math.exp(step * growth)));
  }
}

/** Latencies of requests, in milliseconds; the quantiles are within 5 %. */
export interface LatencySummary {
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
