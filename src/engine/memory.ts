import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { schema, type Zod } from '../core/index.js';
import type { OnError } from '../flow/index.js';
import { usually } from '../options/index.js';

/** Bytes of memory that a step that takes all rows may use before it spills. */
export const defaultMemory = 256_000_000;

/** Bytes that DuckDB needs to sort or group at all. */
export const leastMemory = 32_000_000;

export function scratchFolder(): string {
  return join(tmpdir(), `leadstream-${process.geteuid?.() ?? ''}`);
}

const bytesPer: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9 };

/** Memory in a pipeline file, as bytes; the code that uses it applies `defaultMemory`. */
export const memory = schema((z) =>
  usually(
    z
      .string()
      .regex(/^\d+(?:\.\d+)?(?:kB|MB|GB)$/, 'must be an amount of memory like 256MB or 1GB')
      .transform((text) => Number.parseFloat(text) * (bytesPer[text.replace(/[\d.]/g, '')] ?? 1))
      .refine((bytes) => bytes >= leastMemory, `must be at least ${leastMemory / 1e6}MB`),
    `${defaultMemory / 1e6}MB`,
  ),
);

export interface SpillOptions {
  /** Bytes of memory for rows before they are spilled. At least 32,000,000; default 256,000,000. */
  readonly memory?: number | undefined;
  /** Private folder for spilled rows. Default: one in the system's folder for temporary files. */
  readonly folder?: string | undefined;
  /** What happens to a row with a value that does not have its type. Default `reject`. */
  readonly onError?: OnError | undefined;
}

export function programSpill(z: Zod) {
  return {
    memory: z.number().min(leastMemory).optional(),
    folder: z.string().min(1).optional(),
    on_error: z.enum(['reject', 'null', 'fail']).optional(),
  };
}
