import { setFlagsFromString } from 'node:v8';

/**
 * Sets V8 up for commands: short programs, and streams of pages. This counts for the whole process, so only the command does it.
 *
 * - The heap of a process that goes on may grow to twice what lives in it before old garbage is collected. V8 by itself waits for up to four times
 *   that, which a stream of pages uses to the full: joins into Parquet of 100,000 leads took 325 MB at peak, then 240 MB, for 2 to 4 % more CPU
 *   time. What is over within a second has better use for its time.
 * - The thread that fetches has next to nothing living in it, and is let have 64 MB of garbage: without, a million leads took it 130 to 160 full
 *   collections instead of 26, and the process 1.4 to 2 s of CPU time more.
 * - V8 11 (Node 20) optimizes functions six times as late, with a fifth of the code of others in them, and those of WebAssembly when V8 12 does. A run
 *   of 10,000 leads took 0.7 s of CPU time for optimizing what was about to end, now 0.25; one of 500,000 takes as long as before.
 *
 * None is a limit: what a pipeline declares to hold, it may hold.
 */
export function setV8Flags(): void {
  // Read when a heap is made: this thread has its own by now.
  setFlagsFromString('--initial-old-space-size=64');
  if (process.versions.v8.startsWith('11.')) {
    setFlagsFromString('--interrupt-budget=400000');
    setFlagsFromString('--max-inlined-bytecode-size-cumulative=200');
    setFlagsFromString('--wasm-tiering-budget=13000000');
  }
  setTimeout(() => setFlagsFromString('--heap-growing-percent=100'), 1_000).unref();
  // What was compiled is good for a process with the same flags, which begins as this one did.
  process.once('exit', () => setFlagsFromString('--heap-growing-percent=0'));
}
