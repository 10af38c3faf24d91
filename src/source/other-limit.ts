import type { ListReader } from './paging.js';

/** Returns a reader of the same list with another page size, whose requests are only probes. */
export function resized(reader: ListReader, limit: number): ListReader {
  return {
    ...reader,
    collection: { ...reader.collection, paged: true },
    limit,
    request: (asked) => reader.request({ limit, ...asked, purpose: 'probe' }),
  };
}

/**
 * Returns the page size of a further pass: a different one each time, so that page borders fall elsewhere. Primes below the limit come
 * first, since they share no borders with each other.
 */
export function otherLimit(limit: number, pass: number): number {
  const below = Array.from({ length: limit - 1 }, (_, index) => limit - 1 - index);
  const primes = below.filter(isPrime);
  const candidates = [...primes, ...below.filter((size) => !primes.includes(size))];
  return candidates[(pass - 1) % Math.max(1, candidates.length)] ?? limit;
}

function isPrime(number: number): boolean {
  if (number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
