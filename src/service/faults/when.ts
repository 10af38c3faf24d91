import type { z } from 'zod';
import { hashOfText, schema } from '../../core/index.js';
import { collectionNames } from '../../collections/index.js';
import type { RequestFacts } from '../answer.js';
import { mix, purposes } from '../generate/random.js';
import { oneOf, share, whole } from '../options.js';

const range = schema((z) =>
  z
    .string()
    .regex(/^\d+(-\d*)?$/, 'needs a number or a range, like 3, 3-5 or 3-')
    .transform((text) => {
      const [from, to] = text.split('-');
      return { from: Number(from), to: to === undefined ? Number(from) : to === '' ? Infinity : Number(to) };
    }),
);

/** The conditions of a fault. A request must meet all that are given. */
export const whenSchema = schema((z) =>
  z
    .strictObject({
      collection: oneOf(collectionNames).describe('requests of this collection'),
      page: range().describe('list requests of these pages'),
      purpose: oneOf(['page', 'probe']).describe('requests that are marked as probes, or those that are not'),
      requests: range().describe('these requests, counted from 1 across the whole service'),
      times: whole(1).describe('the first N times of the same request'),
      rate: share().describe('this share of the requests'),
    })
    .partial(),
);

export type When = z.output<ReturnType<typeof whenSchema>>;

/**
 * Returns a test for the requests that a fault applies to. Two requests are the same if their collection, identifier, page and limit are.
 *
 * A rate depends on the seed, the request and how often it has occurred, not on the order in which requests arrive: with several connections, the same ones are
 * affected.
 *
 * @param place Position of the fault, so that two faults with the same rate do not affect the same requests.
 */
export function meets(when: When, seed: number, place: number): (facts: RequestFacts) => boolean {
  const asked = new Map<string, number>();
  return (facts) => {
    if (when.collection !== undefined && when.collection !== facts.collection) return false;
    if (when.purpose !== undefined && when.purpose !== facts.purpose) return false;
    if (when.page !== undefined && (facts.id !== null || !within(when.page, facts.page))) return false;
    if (when.requests !== undefined && !within(when.requests, facts.sequence)) return false;
    if (when.times === undefined && when.rate === undefined) return true;
    const request = JSON.stringify([facts.collection, facts.id, facts.page, facts.limit]);
    const time = (asked.get(request) ?? 0) + 1;
    asked.set(request, time);
    if (time > (when.times ?? Infinity)) return false;
    return mix(seed, purposes.faults + 100 * place, hashOfText(`${time} ${request}`)) < (when.rate ?? 1) * 0x1_0000_0000;
  };
}

function within({ from, to }: { readonly from: number; readonly to: number }, value: number): boolean {
  return value >= from && value <= to;
}
