import type { z } from 'zod';

/** What holds where nothing is said, in pipeline files and in code alike. Times in milliseconds, sizes in bytes. */
export const defaults = {
  limit: 30,
  concurrency: 4,
  firstPage: 1,
  endWaitMs: 5_000,
  timeoutMs: 60_000,
  maxBodyBytes: 67_108_864,
  attempts: 6,
  baseMs: 500,
  capMs: 30_000,
  /** Of a list in a stable order. */
  maxPasses: 8,
  /** Of a list that comes in another order each time. */
  maxPassesUnordered: 30,
} as const;

/** Where the JSON schema of a value has such a default, until it becomes that of the key. */
export const usual = 'x-usual';

/**
 * An optional value whose default is applied by whoever uses it: the JSON schema and the reference say which one it is.
 *
 * @param text The default, as a file has it. zod would drop a `default` of what is read from a text, like a length of time.
 */
export function usually<T extends z.ZodType>(schema: T, text: string | number | boolean): z.ZodOptional<T> {
  return schema.optional().meta({ [usual]: text });
}
