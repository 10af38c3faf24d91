import { z } from 'zod';
import { SinkError } from '../errors.js';
import type { Naming } from './sink.js';

/** The keys that sinks share. Each sink chooses its own default. */
export const filePath = z.string().min(1).describe('File to write; relative paths resolve against the working directory.');

export const naming = (fallback: Naming) =>
  z
    .enum(['original', 'snake_case'])
    .default(fallback)
    .describe(`Column names as the service writes them, or in snake_case (default ${fallback}).`);

export const types = (fallback: 'typed' | 'text') =>
  z
    .enum(['typed', 'text'])
    .default(fallback)
    .describe(`\`typed\` casts every column to its declared type, \`text\` keeps the service's text (default ${fallback}).`);

export const onError = z
  .enum(['reject', 'null', 'fail'])
  .optional()
  .describe(
    "What becomes of a row with a value that does not cast: to the rejects, the value null, or the run fails. Default: the pipeline's on_error.",
  );

/**
 * Checks the options of a sink that is opened in code.
 *
 * @throws {SinkError} `E_SINK_CONFIG` with every problem.
 */
export function checked<T>(at: string, config: z.ZodType<T>, options: unknown): T {
  const result = config.safeParse(options);
  if (result.success) return result.data;
  throw new SinkError('E_SINK_CONFIG', `${at}: ${z.prettifyError(result.error).replaceAll('\n', ' ')}`);
}
