/** Period over which a rate is measured, in milliseconds. */
const spanMs = 10_000;

/** Below this time, there is too little to measure a rate, in milliseconds. */
const leastMs = 500;

/** Measures how fast something grows: over the last ten seconds, or since it began. Memory: two numbers for each tenth of a second. */
export class RecentRate {
  /** Times and counts, oldest first; the first may be older than the span. */
  readonly #samples: [at: number, count: number][];

  constructor(private readonly startedAt: number) {
    this.#samples = [[startedAt, 0]];
  }

  /** Adds the count reached at a time. Counts ascend. */
  add(at: number, count: number): void {
    const last = this.#samples.at(-1);
    if (last && this.#samples.length > 1 && at - last[0] < spanMs / 100) last[1] = count;
    else this.#samples.push([at, count]);
    while ((this.#samples[1]?.[0] ?? Infinity) <= at - spanMs) this.#samples.shift();
  }

  /** Returns the rate per second at a time; `undefined` while it is too early to tell. */
  perSecond(now: number): number | undefined {
    if (now - this.startedAt < leastMs) return undefined;
    const from = this.#samples.findLast(([at]) => at <= now - spanMs) ?? this.#samples[0];
    const last = this.#samples.at(-1);
    if (!from || !last) return undefined;
    return ((last[1] - from[1]) * 1000) / Math.min(spanMs, Math.max(now - from[0], leastMs));
  }
}
