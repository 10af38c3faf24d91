import type { Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import type { Pages } from './first-page.js';
import type { Subject } from './lists.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

const samples = 3;
/** A further step of concurrency has to bring so much more. */
const worthwhile = 1.2;

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

/** Measures how many answers a second come with more requests in flight. @returns Also the most that the service bore, where it refused more. */
export async function measureConcurrency(
  asking: Requester,
  findings: Findings,
  subject: Subject,
  { pages: { firstPage }, limit, ratePerSecond }: { readonly pages: Pages; readonly limit: number; readonly ratePerSecond: number },
): Promise<{ readonly measured: Diagnosis['concurrency']; readonly bearable: number | undefined }> {
  const measured: { inFlight: number; perSecond: number }[] = [];
  const size = Math.min(limit, 100);
  const wanted = [1, 2, 4, 8].filter((inFlight) => inFlight <= Math.max(1, ratePerSecond));
  const replies: Reply[] = [];
  /** Pages that have rows, as far as they were asked for: a page behind the end is no page that takes its time. */
  let filled = 1;
  for (const inFlight of wanted) {
    const began = performance.now();
    const pages = filled < (measured.at(-1)?.inFlight ?? 1) ? filled : inFlight;
    const asked = Array.from({ length: inFlight }, (_, index) => ({ ...subject, page: firstPage + (index % pages), limit: size }));
    const burst = await asking.askTogether(asked);
    // What went before the burst waited for its turn; the slowest answer is its length.
    const ms = Math.max(1, Math.min(performance.now() - began, Math.max(...burst.map(({ evidence }) => evidence.ms))));
    replies.push(...burst);
    const failed = burst.find(({ kind }) => kind === 'failed' || kind === 'unasked');
    if (failed?.kind === 'unasked') break;
    if (failed) {
      findings.add(
        'concurrency',
        'note',
        `with ${inFlight} requests in flight came ${cameOf(failed)}; set concurrency lower, or rate_limit`,
        replies,
      );
      return { measured, bearable: measured.at(-1)?.inFlight ?? 1 };
    }
    const full = burst.filter(({ records }) => records.length > 0).length;
    filled = Math.max(1, Math.min(full, pages));
    measured.push({ inFlight, perSecond: Math.round((10_000 * full) / ms) / 10 });
  }
  if (measured.length === 0) {
    findings.unknown('concurrency', asking.exhausted, replies);
    return { measured, bearable: undefined };
  }
  const best = measured.reduce((chosen, next) => (next.perSecond >= worthwhile * chosen.perSecond ? next : chosen)).inFlight;
  const told = measured.map(({ inFlight, perSecond }) => `${inFlight} in flight: ${perSecond}/s`).join(', ');
  const more = best === 1 ? 'more requests in flight brought no more' : `${best} in flight brought most`;
  findings.add('concurrency', 'ok', `answers a second, one burst each: ${told}; ${more}`, replies);
  return { measured, bearable: undefined };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('no values have a median');
  return middle;
}
