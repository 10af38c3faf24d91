/** The allowed numbers of a setting. */
export interface Range {
  /** Whether it must be an integer. Default false. */
  readonly whole?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** Exclusive lower bound. */
  readonly above?: number;
}

/** The longest delay of a Node timer, 24 days; a longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** The bounds of read settings, shared by pipeline files and code. Times in milliseconds, sizes in bytes. */
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
  maxBodyBytes: { whole: true, min: 1 },
  threads: { whole: true, min: 0, max: 1 },
  attempts: { whole: true, min: 1, max: 100 },
  delayMs: { min: 0 },
} as const satisfies Readonly<Record<string, Range>>;

/** The ways to check a read. */
export const consistencyModes = ['off', 'check', 'repair', 'prove'] as const;

/** Describes what is wrong with the address of a service; `undefined` if it is valid. */
export function addressProblem(address: unknown): string | undefined {
  if (typeof address !== 'string') return 'must be a text';
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return 'must be an http or https URL';
  const { username, password, search, hash } = new URL(address);
  return [username, password, search, hash].every((part) => part === '') ? undefined : 'must not contain user info, a query or a fragment';
}

/** Describes a range, as text to follow `a number`. */
export function rangeText({ min, max, above }: Range): string {
  if (above !== undefined) return max === undefined ? ` above ${above}` : ` above ${above}, at most ${max}`;
  if (min === undefined) return '';
  return max === undefined ? ` of at least ${min}` : ` from ${min} to ${max}`;
}
