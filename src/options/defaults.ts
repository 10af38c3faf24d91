import type { z } from 'zod';

/** The defaults shared by pipeline files and code. Times in milliseconds, sizes in bytes. */
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
  /** For a list in a stable order. */
  maxPasses: 8,
  /** For a list whose order changes every time. */
  maxPassesUnordered: 30,
} as const;

/** Where the JSON schema of a value holds such a default, until it becomes the default of the key. */
export const usual = 'x-usual';

/**
 * Makes a value optional; the code that uses it applies the default. The JSON schema and the reference show the default.
 *
 * @param text The default as written in a file. zod would drop a `default` of a value parsed from text, such as a duration.
 */
export function usually<T extends z.ZodType>(schema: T, text: string | number | boolean): z.ZodOptional<T> {
  return schema.optional().meta({ [usual]: text });
}
