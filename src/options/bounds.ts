/** The numbers that a setting may be. */
export interface Range {
  /** Whether it has to be an integer. Default false. */
  readonly whole?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** What it has to be more than. */
  readonly above?: number;
}

/** The longest time that a timer of Node can wait, 24 days; a longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * What the settings of a read may be, in pipeline files and in code alike: neither has bounds of its own. Times in milliseconds, sizes in
 * bytes.
 */
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

/** How a read can be checked. */
export const consistencyModes = ['off', 'check', 'repair', 'prove'] as const;

/** What is wrong with the address of a service, in words. */
export function addressProblem(address: unknown): string | undefined {
  if (typeof address !== 'string') return 'must be a text';
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return 'must be an http or https URL';
  const { username, password, search, hash } = new URL(address);
  return [username, password, search, hash].every((part) => part === '') ? undefined : 'must hold no user info, query or fragment';
}

/** A range in words, behind `a number`. */
export function rangeText({ min, max, above }: Range): string {
  if (above !== undefined) return max === undefined ? ` above ${above}` : ` above ${above}, at most ${max}`;
  if (min === undefined) return '';
  return max === undefined ? ` from ${min} on` : ` from ${min} to ${max}`;
}
