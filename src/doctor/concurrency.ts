import { amountOf, itemAt } from '../core/index.js';
import { Bursts, type Outcome } from './bursts.js';
import type { Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import type { Subject } from './lists.js';
import { isRefusal } from './reply.js';
import type { Asked } from './asked.js';
import type { Requester } from './requester.js';
import { median } from './speed.js';

/** Factor by which a further step of concurrency must increase throughput. */
const worthwhile = 1.2;

type Measured = Diagnosis['concurrency'];
type Refused = Extract<Outcome, { kind: 'too many' | 'too often' }>;
/** A number of requests in flight without a result. */
interface UnclearAt {
  readonly inFlight: number;
  readonly outcome: Extract<Outcome, { kind: 'unclear' | 'unasked' }>;
}

/** How the list is requested. */
interface Measuring {
  readonly firstPage: 0 | 1;
  readonly limit: number;
  readonly ratePerSecond: number;
}

/**
 * Measures answers per second with increasing numbers of requests in flight. A failed request in a burst is no reason to reduce them, since requests
 * can fail by chance. The burst is repeated, and failures in bursts are compared with those of requests sent alone. A service that reports being
 * overloaded is believed.
 *
 * @returns The measurements, and the maximum that the service accepted, if it refused more.
 */
export async function measureConcurrency(
  asking: Requester,
  findings: Findings,
  subject: Subject,
  measuring: Measuring,
): Promise<{ readonly measured: Measured; readonly bearable: number | undefined }> {
  const concurrency = new Concurrency(asking, findings, subject, measuring);
  const bearable = await concurrency.measure();
  return { measured: concurrency.measured, bearable };
}

class Concurrency {
  measured: Measured = [];
  readonly #bursts: Bursts;
  /** Number of requested pages that have rows: a page past the end is not representative. */
  #filled = 1;

  constructor(
    private readonly asking: Requester,
    private readonly findings: Findings,
    private readonly subject: Subject,
    private readonly measuring: Measuring,
  ) {
    this.#bursts = new Bursts(asking, subject);
  }

  async measure(): Promise<number | undefined> {
    const { ratePerSecond } = this.measuring;
    let unclear: UnclearAt | undefined;
    this.#takeAlone();
    const sizes = [1, 2, 4, 8].filter((wanted) => wanted > (this.measured.at(-1)?.inFlight ?? 0));
    for (const inFlight of sizes.filter((wanted) => wanted <= Math.max(1, ratePerSecond))) {
      const outcome = await this.#bursts.send(this.#askedOf(inFlight));
      if (outcome.kind === 'too many' || outcome.kind === 'too often') return this.#refused(inFlight, outcome);
      if (outcome.kind === 'whole') this.#take(inFlight, outcome);
      if (outcome.kind === 'unclear' || outcome.kind === 'unasked') unclear = { inFlight, outcome };
      // Repeated failures of requests sent alone do not depend on concurrency.
      if (outcome.kind === 'unasked' || (outcome.kind === 'unclear' && (inFlight === 1 || outcome.why !== 'chance'))) break;
    }
    this.#report(unclear);
    return undefined;
  }

  #askedOf(inFlight: number): readonly Asked[] {
    const { firstPage, limit } = this.measuring;
    const count = this.#filled < (this.measured.at(-1)?.inFlight ?? 1) ? this.#filled : inFlight;
    const numbers = Array.from({ length: inFlight }, (_, index) => firstPage + (index % count));
    return numbers.map((page) => ({ ...this.subject, page, limit: Math.min(limit, 100) }));
  }

  /** Full pages that were requested one at a time give the same result as a burst of one. */
  #takeAlone(): void {
    const [asked] = this.#askedOf(1);
    const times = asked ? this.asking.timed(asked).map(({ evidence }) => evidence.ms) : [];
    if (times.length > 0) this.measured = [{ inFlight: 1, perSecond: Math.round(10_000 / Math.max(1, median(times))) / 10 }];
  }

  #take(inFlight: number, { asked, replies, ms }: Extract<Outcome, { kind: 'whole' }>): void {
    const full = asked.filter((_, index) => itemAt(replies, index).records.length > 0);
    this.#filled = Math.max(1, new Set(full.map(({ page }) => page)).size);
    this.measured = [...this.measured, { inFlight, perSecond: Math.round((10_000 * full.length) / ms) / 10 }];
  }

  /** Repeats a burst of the size that the service accepted: one burst may succeed because its requests did not overlap. */
  async #refused(inFlight: number, outcome: Refused): Promise<number | undefined> {
    let [least, refusal] = [inFlight, outcome];
    for (const { inFlight: fewer } of this.measured.toReversed()) {
      if (refusal.kind === 'too often' || fewer === 1) break;
      const again = await this.#bursts.send(this.#askedOf(fewer));
      if (again.kind !== 'too many' && again.kind !== 'too often') break;
      [least, refusal] = [fewer, again];
    }
    this.measured = this.measured.filter(({ inFlight: fewer }) => fewer < least);
    const came = cameOf(refusal.failure);
    const told = `with ${amountOf(least, 'request')} in flight, some failed with ${came} (${this.#bursts.counted(least)})`;
    const isOften = refusal.kind === 'too often';
    const advice = isOften ? `${this.#often}; set rate_limit, or lower concurrency` : 'lower concurrency, or set rate_limit';
    this.findings.add('concurrency', 'note', `${told}; ${advice}`, this.#bursts.replies);
    return isOften ? undefined : (this.measured.at(-1)?.inFlight ?? 1);
  }

  get #often(): string {
    const { tooOften } = this.asking;
    const requests = tooOften === 1 ? 'a request' : `${tooOften} requests`;
    return `${requests} sent alone also got HTTP 429, at no more than ${this.measuring.ratePerSecond}/s`;
  }

  #report(unclear: UnclearAt | undefined): void {
    const remarks = this.#remarks(unclear);
    const { replies } = this.#bursts;
    const { measured } = this;
    if (measured.length === 0) {
      this.findings.unknown('concurrency', remarks.join('; '), replies);
      return;
    }
    const chosen = measured.reduce((before, next) => (next.perSecond >= worthwhile * before.perSecond ? next : before));
    const told = measured.map(({ inFlight, perSecond }) => `${inFlight} in flight: ${perSecond}/s`).join(', ');
    const isMost = measured.every(({ perSecond }) => perSecond <= chosen.perSecond);
    const enough =
      chosen.inFlight === 1 ? 'more requests in flight were no faster' : `more than ${chosen.inFlight} in flight gained little`;
    const most = isMost && chosen.inFlight > 1 ? `${chosen.inFlight} in flight were fastest` : enough;
    const isAlone = this.measuring.ratePerSecond < 2;
    const words = [
      `responses per second: ${told}`,
      ...(measured.length > 1 ? [most] : isAlone ? ['no requests were sent together'] : []),
      ...remarks,
    ];
    this.findings.add('concurrency', remarks.length === 0 ? 'ok' : 'note', words.join('; '), replies);
  }

  /** Describes what failed, and the cause if known. */
  #remarks(unclear: UnclearAt | undefined): readonly string[] {
    const { unfit, replies } = this.#bursts;
    const often = this.asking.tooOften > 0 ? [`${this.#often}; set rate_limit`] : [];
    const advice = replies.some(isRefusal) ? ['lower concurrency, or set rate_limit'] : [];
    return [
      ...(unfit ? [`page ${unfit.page} also fails on its own: ${cameOf(unfit.reply)}`] : []),
      ...this.#failures(unclear),
      ...(often.length > 0 ? often : advice),
    ];
  }

  #failures(unclear: UnclearAt | undefined): readonly string[] {
    const { failure, failsAlone } = this.#bursts;
    const { exhausted } = this.asking;
    const chance = failure ? [`${cameOf(failure)} occurred, possibly by chance (${this.#bursts.counted()})`] : [];
    if (!unclear) return chance;
    const { inFlight, outcome } = unclear;
    if (outcome.kind === 'unasked') return [...chance, `${exhausted} before ${inFlight} in flight could be measured`];
    const came = cameOf(outcome.failure);
    if (outcome.why === 'chance') return inFlight > 1 ? chance : [`several requests sent alone all failed with ${came}`];
    if (outcome.why === 'spent' && failsAlone) return [...chance, `${exhausted} before ${inFlight} in flight all succeeded`];
    const where =
      inFlight === 1
        ? `a request sent alone failed with ${came}`
        : `with ${amountOf(inFlight, 'request')} in flight, some failed with ${came} (${this.#bursts.counted()})`;
    const why = outcome.why === 'wait' ? 'that is too long to wait for another attempt' : `${exhausted} before chance could be ruled out`;
    return [`${where}; ${why}`];
  }
}
