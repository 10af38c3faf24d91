/** What time it is, and a call again and again: real time, unless a test has its own. */
export interface Clock {
  /** Milliseconds from any fixed point. */
  now(): number;
  /** Calls `work` every `ms` milliseconds, and does not keep the process alive for it. @returns Ends it. */
  every(ms: number, work: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  every: (ms, work) => {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
};
