import { schema } from '../core/index.js';

/**
 * What the settings of a read may be, in pipeline files and in code alike: neither has bounds of its own. Times in milliseconds, sizes in
 * bytes.
 */
export const settings = schema((z) => ({
  baseUrl: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https URL')
    .refine(
      (text) => !URL.canParse(text) || ['username', 'password', 'search', 'hash'].every((part) => Reflect.get(new URL(text), part) === ''),
      'must hold no user info, query or fragment',
    ),
  limit: z.number().int().min(1).max(500),
  concurrency: z.number().int().min(1).max(64),
  window: z.number().int().min(1).max(1024),
  firstPage: z.number().int().min(0).max(1, 'must be 0 or 1: a list that is read from a later page on is not the whole list'),
  maxPages: z.number().int().min(1),
  maxPasses: z.number().int().min(1).max(100),
  endWaitMs: z.number().min(0).max(35_000),
  ratePerSecond: z.number().positive(),
  timeoutMs: z.number().positive(),
  maxBodyBytes: z.number().int().min(1),
  threads: z.number().int().min(0).max(1),
  attempts: z.number().int().min(1).max(100),
  delayMs: z.number().min(0),
  consistency: z.enum(['off', 'check', 'repair', 'prove']),
}));

/** No limit, where code can say so. JSON has no word for it, so that it bears its own. */
export const unlimited = schema((z) => z.literal(Infinity).describe('Infinity'));

/** Requests in flight unless told otherwise. */
const usualConcurrency = 4;

/** What window and concurrency have to do with each other; for `refine` of whatever has both. */
export const windowHoldsConcurrency: [(options: Windowed) => boolean, { path: string[]; message: string }] = [
  ({ window, concurrency = usualConcurrency }) => window === undefined || window >= concurrency,
  { path: ['window'], message: 'must be at least the concurrency' },
];

interface Windowed {
  readonly window?: number | undefined;
  readonly concurrency?: number | undefined;
}
