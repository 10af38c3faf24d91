import type { Clock } from '../../src/cli/clock.js';

/** A clock that moves only when advanced. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly ms: number; next: number; readonly work: () => void }>();

  now(): number {
    return this.#now;
  }

  every(ms: number, work: () => void): () => void {
    const timer = { ms, next: this.#now + ms, work };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Advances the time, and runs timers that become due, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [due] = [...this.#timers].filter(({ next }) => next <= end).toSorted((a, b) => a.next - b.next);
      if (!due) break;
      this.#now = due.next;
      due.next += due.ms;
      due.work();
    }
    this.#now = end;
  }
}
