import type { Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import type { Pages } from './first-page.js';
import type { Subject } from './lists.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

const samples = 3;

/** Measures how long pages of several sizes take. @param limit The greatest size. */
export async function measureLatency(
  asking: Requester,
  findings: Findings,
  subject: Subject,
  { firstPage }: Pages,
  limit: number,
): Promise<Diagnosis['latency']> {
  const sizes = [...new Set([1, 30, 100, limit].filter((size) => size <= limit))].sort((a, b) => a - b);
  const [latency, replies]: [{ limit: number; ms: number; requests: number }[], Reply[]] = [[], []];
  for (const size of sizes) {
    const asked = { ...subject, page: firstPage, limit: size };
    let unfit: Reply | undefined;
    while (asking.timed(asked).length < samples && unfit === undefined) {
      const reply = await asking.ask(asked);
      if (reply.kind !== 'rows' || reply.records.length < size) unfit = reply;
    }
    const timed = asking.timed(asked);
    if (timed.length > 0) latency.push({ limit: size, ms: median(timed.map(({ evidence }) => evidence.ms)), requests: timed.length });
    replies.push(...timed, ...(unfit ? [unfit] : []));
  }
  const told = latency.map(({ limit: size, ms }) => `limit=${size}: ${ms} ms`).join(', ');
  if (latency.length === 0) findings.unknown('latency', replies[0] ? cameOf(replies[0]) : asking.exhausted, replies);
  else findings.add('latency', 'ok', `median of ${latency.map(({ requests }) => requests).join(', ')} requests: ${told}`, replies);
  return latency;
}

/** The middle one, of an even number the higher. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('no values have a median');
  return middle;
}
