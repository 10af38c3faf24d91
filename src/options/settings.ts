import { schema, type Zod } from '../core/index.js';
import { addressProblem, bounds, consistencyModes, type Range } from './bounds.js';
import { defaults } from './defaults.js';

/** Schemas of read settings for pipeline files. */
export const settings = schema((z) => ({
  baseUrl: z.string().superRefine((address, context) => {
    const message = addressProblem(address);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  }),
  limit: ranged(z, bounds.limit),
  concurrency: ranged(z, bounds.concurrency),
  window: ranged(z, bounds.window),
  firstPage: z
    .number()
    .int()
    .min(bounds.firstPage.min)
    .max(bounds.firstPage.max, 'must be 0 or 1: a list read from a later page is not complete'),
  maxPages: ranged(z, bounds.maxPages),
  maxPasses: ranged(z, bounds.maxPasses),
  endWaitMs: ranged(z, bounds.endWaitMs),
  threads: ranged(z, bounds.threads),
  maxBodyBytes: ranged(z, bounds.maxBodyBytes),
  attempts: ranged(z, bounds.attempts),
  consistency: z.enum(consistencyModes),
}));

function ranged(z: Zod, { whole = false, min = 0, max }: Omit<Range, 'above'>) {
  const least = (whole ? z.number().int() : z.number()).min(min);
  return max === undefined ? least : least.max(max);
}

/** The message for a window smaller than the concurrency. */
export const windowTooSmall = 'must be at least the concurrency';

/** Returns whether a window, if set, holds as many pages as are requested at once. */
export function windowHoldsConcurrency({ window, concurrency = defaults.concurrency }: Windowed): boolean {
  return window === undefined || window >= concurrency;
}

/** Settings that include a window. */
export interface Windowed {
  readonly window?: number | undefined;
  readonly concurrency?: number | undefined;
}
