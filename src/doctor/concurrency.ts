import { chanceOf, type Sample } from './chance.js';
import type { Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import type { Pages } from './first-page.js';
import type { Subject } from './lists.js';
import type { Reply } from './reply.js';
import type { Asked, Requester } from './requester.js';

/** A further step of concurrency has to bring so much more. */
const worthwhile = 1.2;
/** How often a burst of one size is sent, until one comes whole. */
const mostBursts = 3;
/** Failures that fall on bursts by chance with a lower probability than this are not put down to chance. */
const unlikely = 0.002;

/** What is measured with one number of requests in flight. */
type Outcome =
  | { readonly kind: 'whole'; readonly replies: readonly Reply[]; readonly ms: number }
  | { readonly kind: 'too many'; readonly failure: Reply }
  | { readonly kind: 'unclear'; readonly failure: Reply }
  | { readonly kind: 'unasked' };

/**
 * Measures how many answers a second come with more requests in flight. A request of a burst that fails is no reason to ask less at once: requests
 * fail by chance. Such a burst is sent again, and what failed in bursts is compared with what failed alone.
 *
 * @returns Also the most that the service bore, where it refused more.
 */
export async function measureConcurrency(
  asking: Requester,
  findings: Findings,
  subject: Subject,
  { pages: { firstPage }, limit, ratePerSecond }: { readonly pages: Pages; readonly limit: number; readonly ratePerSecond: number },
): Promise<{ readonly measured: Diagnosis['concurrency']; readonly bearable: number | undefined }> {
  const measured: { inFlight: number; perSecond: number }[] = [];
  const bursts = new Bursts(asking, subject);
  /** Pages that have rows, as far as they were asked for: a page behind the end is no page that takes its time. */
  let filled = 1;
  for (const inFlight of [1, 2, 4, 8].filter((wanted) => wanted <= Math.max(1, ratePerSecond))) {
    const pages = filled < (measured.at(-1)?.inFlight ?? 1) ? filled : inFlight;
    const asked = Array.from({ length: inFlight }, (_, index) => ({
      ...subject,
      page: firstPage + (index % pages),
      limit: Math.min(limit, 100),
    }));
    const outcome = await bursts.send(asked);
    if (outcome.kind === 'unasked') break;
    if (outcome.kind === 'too many') {
      const told = `with ${inFlight} requests in flight came ${cameOf(outcome.failure)} (${bursts.counted(inFlight)})`;
      findings.add('concurrency', 'note', `${told}; set concurrency lower, or rate_limit`, bursts.replies);
      return { measured, bearable: measured.at(-1)?.inFlight ?? 1 };
    }
    if (outcome.kind === 'unclear') {
      if (inFlight > 1) continue;
      break; // What fails again and again alone says nothing of several at once.
    }
    const full = outcome.replies.filter(({ records }) => records.length > 0).length;
    filled = Math.max(1, Math.min(full, pages));
    measured.push({ inFlight, perSecond: Math.round((10_000 * full) / outcome.ms) / 10 });
  }
  report(measured, bursts, findings, asking);
  return { measured, bearable: undefined };
}

function report(measured: Diagnosis['concurrency'], bursts: Bursts, findings: Findings, asking: Requester): void {
  const { failure } = bursts;
  const remark = failure && `${cameOf(failure)} came, as it may by chance (${bursts.counted()})`;
  if (measured.length === 0) {
    findings.unknown('concurrency', remark ?? asking.exhausted, bursts.replies);
    return;
  }
  const best = measured.reduce((chosen, next) => (next.perSecond >= worthwhile * chosen.perSecond ? next : chosen)).inFlight;
  const told = measured.map(({ inFlight, perSecond }) => `${inFlight} in flight: ${perSecond}/s`).join(', ');
  const more = best === 1 ? 'more requests in flight brought no more' : `${best} in flight brought most`;
  const words = [`answers a second, one burst each: ${told}`, more, ...(remark === undefined ? [] : [remark])];
  findings.add('concurrency', remark === undefined ? 'ok' : 'note', words.join('; '), bursts.replies);
}

/** Sends bursts of requests, and counts what fails. */
class Bursts {
  readonly replies: Reply[] = [];
  readonly #samples = new Map<number, Sample>();
  /** The first request of a burst that failed. */
  failure: Reply | undefined;

  constructor(
    private readonly asking: Requester,
    private readonly subject: Subject,
  ) {}

  /** Sends one burst, and sends it again while some of it fails and that may be by chance. */
  async send(asked: readonly Asked[]): Promise<Outcome> {
    let failed: Reply | undefined;
    for (let count = 1; count <= mostBursts; count += 1) {
      const began = performance.now();
      const replies = await this.asking.askTogether(asked);
      // What went before the burst waited for its turn; the slowest answer is its length.
      const ms = Math.max(1, Math.min(performance.now() - began, Math.max(...replies.map(({ evidence }) => evidence.ms))));
      if (replies.some(({ kind }) => kind === 'unasked')) return failed ? { kind: 'unclear', failure: failed } : { kind: 'unasked' };
      this.#count(replies);
      const failure = replies.find(({ kind }) => kind === 'failed');
      if (!failure) return { kind: 'whole', replies, ms };
      failed = failure;
      this.failure ??= failure;
      const sample = this.#samples.get(asked.length);
      if (sample && asked.length > 1 && chanceOf(sample, this.#alone) < unlikely) return { kind: 'too many', failure };
    }
    return failed ? { kind: 'unclear', failure: failed } : { kind: 'unasked' };
  }

  /** The failures in words, of bursts of one size or of all. */
  counted(size?: number): string {
    const samples = [...this.#samples]
      .filter(([length]) => length > 1 && (size === undefined || length === size))
      .map(([, sample]) => sample);
    const requests = samples.reduce((sum, sample) => sum + sample.requests, 0);
    const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
    const alone = this.#alone;
    return `${failed} of ${requests} requests sent together failed, ${alone.failed} of ${alone.requests} sent alone`;
  }

  /** Those that were sent one after another, and bursts of one. */
  get #alone(): Sample {
    const { requests, failed } = this.asking.alone(this.subject);
    const single = this.#samples.get(1) ?? { requests: 0, failed: 0 };
    return { requests: requests + single.requests, failed: failed + single.failed };
  }

  #count(replies: readonly Reply[]): void {
    this.replies.push(...replies);
    const { requests, failed } = this.#samples.get(replies.length) ?? { requests: 0, failed: 0 };
    this.#samples.set(replies.length, {
      requests: requests + replies.length,
      failed: failed + replies.filter(({ kind }) => kind === 'failed').length,
    });
  }
}
