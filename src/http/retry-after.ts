/** Every form of an HTTP date begins with one; `Date.parse` alone accepts `-5` and `1.5` as dates. */
const dayName = /^\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Returns the milliseconds in a `Retry-After` header: seconds or an HTTP date (RFC 9110, section 10.2.3).
 *
 * @returns `undefined` when the header is missing or unreadable; never less than 0.
 */
export function retryAfterMs(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  if (!dayName.test(header)) return undefined;
  const date = Date.parse(header.trim().endsWith('GMT') ? header : `${header} GMT`);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
