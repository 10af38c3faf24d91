import type { z } from 'zod';
import { byName, consistencyModes, duplicateKeyModes, schema, type Zod } from '../core/index.js';

export interface NumberRange {
  readonly whole?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
}

/** The longest delay of a Node timer, 24 days; a longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** The bounds of read settings, for pipeline files and code. Times in milliseconds, sizes in bytes. */
export const bounds = {
  limit: { whole: true, min: 1, max: 500 },
  concurrency: { whole: true, min: 1, max: 64 },
  window: { whole: true, min: 1, max: 1024 },
  firstPage: { whole: true, min: 0, max: 1 },
  maxPages: { whole: true, min: 1 },
  maxPasses: { whole: true, min: 1, max: 100 },
  endWaitMs: { min: 0, max: 35_000 },
  ratePerSecond: { above: 0 },
  timeoutMs: { above: 0 },
  maxPageBytes: { whole: true, min: 1 },
  threads: { whole: true, min: 0, max: 1 },
  attempts: { whole: true, min: 1, max: 100 },
  delayMs: { min: 0 },
} as const satisfies Readonly<Record<string, NumberRange>>;

export function addressProblem(address: unknown): string | undefined {
  if (typeof address !== 'string') return 'must be a text';
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return 'must be an http or https URL';
  const { username, password, search, hash } = new URL(address);
  return [username, password, search, hash].every((part) => part === '') ? undefined : 'must not contain user info, a query or a fragment';
}

/** Describes a range, as text to follow `a number`. */
export function rangeText({ min, max, above }: NumberRange): string {
  if (above !== undefined) return max === undefined ? ` above ${above}` : ` above ${above}, at most ${max}`;
  if (min === undefined) return '';
  return max === undefined ? ` of at least ${min}` : ` from ${min} to ${max}`;
}

/** The defaults, for pipeline files and code. Times in milliseconds, sizes in bytes. */
export const defaults = {
  limit: 30,
  concurrency: 4,
  firstPage: 1,
  endWaitMs: 5_000,
  timeoutMs: 60_000,
  maxPageBytes: 67_108_864,
  attempts: 6,
  baseMs: 500,
  capMs: 30_000,
  /** For a list in a stable order. */
  maxPasses: 8,
  /** For a list whose order changes every time. */
  maxPassesUnordered: 30,
} as const;

/** Where a JSON schema holds such a default until it becomes the default of its key. */
export const usual = 'x-usual';

/** Makes a value optional whose default the code applies and the reference shows; zod drops a `default` of a value parsed from text. */
export function usually<T extends z.ZodType>(schema: T, text: string | number | boolean): z.ZodOptional<T> {
  return schema.optional().meta({ [usual]: text });
}

const counted = ['limit', 'concurrency', 'window', 'maxPages', 'maxPasses', 'endWaitMs', 'threads', 'maxPageBytes', 'attempts'] as const;

export const settings = schema((z) => ({
  baseUrl: z.string().superRefine((address, context) => {
    const message = addressProblem(address);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  }),
  ...byName(counted, (name) => ranged(z, bounds[name])),
  firstPage: ranged(z, { whole: true, min: 0 }).max(bounds.firstPage.max, 'must be 0 or 1: a list read from a later page is not complete'),
  consistency: z.enum(consistencyModes),
  onDuplicateKey: z.enum(duplicateKeyModes).optional().describe('Which of different rows with one key are kept. Default: the run fails.'),
}));

function ranged(z: Zod, { whole = false, min = 0, max }: Omit<NumberRange, 'above'>) {
  const least = (whole ? z.number().int() : z.number()).min(min);
  return max === undefined ? least : least.max(max);
}

type Windowed = { readonly [N in 'window' | 'concurrency']?: number | undefined };

export function windowHoldsConcurrency({ window, concurrency = defaults.concurrency }: Windowed): boolean {
  return window === undefined || window >= concurrency;
}
