import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { schema } from '../core/index.js';
import { usually } from '../options/index.js';

/** What a step that takes all rows may take in memory before it spills, in bytes. */
export const defaultMemory = 256_000_000;

/** Folder for what programs spill. */
export function scratchFolder(): string {
  return join(tmpdir(), `leadstream-${process.geteuid?.() ?? ''}`);
}

const bytesPer: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9 };

/** An amount of memory in a pipeline file, as bytes; whoever takes it takes `defaultMemory` without one. */
export const memory = schema((z) =>
  usually(
    z
      .string()
      .regex(/^\d+(?:\.\d+)?(?:kB|MB|GB)$/, 'an amount of memory is written like 256MB or 1GB')
      .transform((text) => Number.parseFloat(text) * (bytesPer[text.replace(/[\d.]/g, '')] ?? 1))
      .refine((bytes) => bytes >= 1e6, 'must be at least 1MB'),
    `${defaultMemory / 1e6}MB`,
  ),
);

/** What a step holds that spills rows, in words. @param bytes Default: `defaultMemory`. */
export function spilledBeyond(bytes = defaultMemory): string {
  return `at most ${bytes / 1_000_000} MB; more goes to a file in the state folder`;
}
