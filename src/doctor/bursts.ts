import { itemAt } from '../core/index.js';
import { chanceOf, type Sample } from './chance.js';
import type { Subject } from './lists.js';
import { isFailure, isRefusal, type Reply } from './reply.js';
import type { Asked } from './asked.js';
import { maxWaitMs, type Requester } from './requester.js';

/** Maximum number of bursts of one size, until one succeeds completely. */
const mostBursts = 3;
/** Failures are not attributed to chance if the probability that they hit only bursts is lower than this. */
const unlikely = 0.005;

/** The result of a measurement with one number of requests in flight. */
export type Outcome =
  | { readonly kind: 'whole'; readonly asked: readonly Asked[]; readonly replies: readonly Reply[]; readonly ms: number }
  /** That many at once are refused; `too often` if requests sent one at a time are refused, too. */
  | { readonly kind: 'too many' | 'too often'; readonly failure: Reply }
  /** It may be chance, or there were too few attempts: no requests are left, or the service asks for too long a wait. */
  | { readonly kind: 'unclear'; readonly why: 'chance' | 'spent' | 'wait'; readonly failure: Reply }
  | { readonly kind: 'unasked' };

/** A page that also fails on its own. */
interface Unfit {
  readonly page: number;
  readonly reply: Reply;
}

/** Sends bursts of requests, and finds the cause of their failures. */
export class Bursts {
  readonly replies: Reply[] = [];
  readonly #samples = new Map<number, Sample>();
  /** The first request that failed in a burst but would not have failed on its own. */
  failure: Reply | undefined;
  /** The first page that bursts leave out, along with all later ones. */
  unfit: Unfit | undefined;

  constructor(
    private readonly asking: Requester,
    private readonly subject: Subject,
  ) {}

  /** Sends a burst, and repeats it while parts of it fail and that may be chance. */
  async send(all: readonly Asked[]): Promise<Outcome> {
    const failures: Reply[] = [];
    for (;;) {
      const asked = this.#fitting(all);
      const began = performance.now();
      const replies = await this.asking.askTogether(asked);
      // The elapsed time includes the wait before the burst, so its duration is at most that of the slowest answer.
      const ms = Math.max(1, Math.min(performance.now() - began, Math.max(...replies.map(({ evidence }) => evidence.ms))));
      const last = failures.at(-1);
      if (replies.some(({ kind }) => kind === 'unasked'))
        return last ? { kind: 'unclear', why: 'spent', failure: last } : { kind: 'unasked' };
      this.#count(replies);
      const failure = replies.find(isRefusal) ?? replies.find(isFailure);
      if (!failure) return { kind: 'whole', asked, replies, ms };
      if (!last && (await this.#isUnfit(asked, replies.indexOf(failure)))) continue;
      failures.push(failure);
      this.failure ??= failure;
      const verdict = this.#verdict(asked.length, failures);
      if (verdict) return { ...verdict, failure };
    }
  }

  /** Describes the failures, of bursts of one size or of all. */
  counted(size?: number): string {
    const samples = [...this.#samples]
      .filter(([length]) => length > 1 && (size === undefined || length === size))
      .map(([, sample]) => sample);
    const requests = samples.reduce((sum, sample) => sum + sample.requests, 0);
    const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
    const alone = this.#alone;
    return `${failed} of ${requests} requests sent together failed, ${alone.failed} of ${alone.requests} sent alone`;
  }

  /** Whether requests sent on their own also fail now and then. */
  get failsAlone(): boolean {
    return this.#alone.failed > 0;
  }

  get #alone(): Sample {
    return this.asking.alone(this.subject);
  }

  /** Leaves out pages from the first one that fails on its own. */
  #fitting(all: readonly Asked[]): readonly Asked[] {
    const { page: end = Infinity } = this.unfit ?? {};
    const fit = all.filter(({ page = 0 }) => page < end);
    return all.flatMap((_, index) => fit[index % fit.length] ?? []);
  }

  /** Requests a page that failed in a burst on its own. @returns Whether it fails again, so that bursts leave it out. */
  async #isUnfit(asked: readonly Asked[], index: number): Promise<boolean> {
    const [first, failed] = [asked[0], asked[index]];
    const { retryAfterMs: waitMs = 0 } = this.replies.at(index - asked.length) ?? {};
    if (!first || !failed || asked.length === 1 || waitMs > maxWaitMs) return false;
    const reply = await this.asking.ask(failed);
    if (reply.kind === 'unasked') return false;
    this.replies.push(reply);
    // The first page has already been read many times.
    if (!isFailure(reply) || reply.evidence.status === 429 || failed.page === first.page) return false;
    this.unfit = { page: failed.page ?? 0, reply };
    this.#samples.delete(asked.length);
    return true;
  }

  /** Judges the failed bursts of one size; returns nothing if another burst is needed. */
  #verdict(size: number, failures: readonly Reply[]) {
    const { retryAfterMs: waitMs = 0, evidence } = itemAt(failures, failures.length - 1);
    // 429 is a deliberate answer.
    if (size > 1 && evidence.status === 429) return { kind: this.asking.tooOften > 0 ? 'too often' : 'too many' } as const;
    if (waitMs > maxWaitMs) return { kind: 'unclear', why: 'wait' } as const;
    if (size > 1 && this.#isTooMuch(size, failures)) return { kind: 'too many' } as const;
    return failures.length < mostBursts ? undefined : ({ kind: 'unclear', why: 'chance' } as const);
  }

  #isTooMuch(size: number, failures: readonly Reply[]): boolean {
    const [alone, sample] = [this.#alone, this.#samples.get(size)];
    if (sample && chanceOf(sample, alone) < unlikely) return true;
    if (alone.failed > 0) return false;
    if (failures.length > 1 && failures.every(isRefusal)) return true;
    // Every burst of this size fails, and none of a smaller size. With random failures, that happens to fewer than 2 in 100 services.
    return failures.length === mostBursts && [...this.#samples].every(([length, { failed }]) => length === size || failed === 0);
  }

  #count(replies: readonly Reply[]): void {
    this.replies.push(...replies);
    const { requests, failed } = this.#samples.get(replies.length) ?? { requests: 0, failed: 0 };
    this.#samples.set(replies.length, {
      requests: requests + replies.length,
      failed: failed + replies.filter(isFailure).length,
    });
  }
}
