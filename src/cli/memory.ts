import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap grow to twice what lives in it before old garbage is collected. V8 by itself waits for up to four times that, which
 * a stream of pages uses to the full: joins into Parquet of 100,000 leads took 325 MB at peak, now 240 MB, for 2 to 4 % more CPU time.
 *
 * It is no limit: what a pipeline declares to hold, it may hold. It counts for the whole process, so only the command does it.
 */
export function boundGarbage(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
