/** Tells the time and repeats calls: real time, unless a test supplies its own. */
export interface Clock {
  /** Milliseconds since any fixed point. */
  now(): number;
  /** Calls `work` every `ms` milliseconds without keeping the process alive. @returns Stops the calls. */
  every(ms: number, work: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  every: (ms, work) => {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
};
