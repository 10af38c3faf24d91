import { itemAt } from '../core/index.js';
import { chanceOf, type Sample } from './chance.js';
import type { Subject } from './lists.js';
import { isFailure, isRefusal, type Reply } from './reply.js';
import type { Asked } from './asked.js';
import { maxWaitMs, type Requester } from './requester.js';

/** How often a burst of one size is sent, until one comes whole. */
const mostBursts = 3;
/** Failures that fall on bursts by chance with a lower probability than this are not put down to chance. */
const unlikely = 0.005;

/** What is measured with one number of requests in flight. */
export type Outcome =
  | { readonly kind: 'whole'; readonly asked: readonly Asked[]; readonly replies: readonly Reply[]; readonly ms: number }
  /** So many at once are refused; `too often` where requests that are sent one after another are refused, too. */
  | { readonly kind: 'too many' | 'too often'; readonly failure: Reply }
  /** It may be chance, or it was not tried often enough: no requests are left, or the service asks for too long a wait. */
  | { readonly kind: 'unclear'; readonly why: 'chance' | 'spent' | 'wait'; readonly failure: Reply }
  | { readonly kind: 'unasked' };

/** A page that fails alone, too. */
interface Unfit {
  readonly page: number;
  readonly reply: Reply;
}

/** Sends bursts of requests, and finds out what their failures come from. */
export class Bursts {
  readonly replies: Reply[] = [];
  readonly #samples = new Map<number, Sample>();
  /** The first request of a burst that failed, and would not have failed alone. */
  failure: Reply | undefined;
  /** The first page that bursts leave out, with those behind it. */
  unfit: Unfit | undefined;

  constructor(
    private readonly asking: Requester,
    private readonly subject: Subject,
  ) {}

  /** Sends one burst, and sends it again while some of it fails and that may be by chance. */
  async send(all: readonly Asked[]): Promise<Outcome> {
    const failures: Reply[] = [];
    for (;;) {
      const asked = this.#fitting(all);
      const began = performance.now();
      const replies = await this.asking.askTogether(asked);
      // What went before the burst waited for its turn; the slowest answer is its length.
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

  /** Whether requests that are sent alone fail, too, now and then. */
  get failsAlone(): boolean {
    return this.#alone.failed > 0;
  }

  get #alone(): Sample {
    return this.asking.alone(this.subject);
  }

  /** Pages from the first one that fails alone on are left out. */
  #fitting(all: readonly Asked[]): readonly Asked[] {
    const { page: end = Infinity } = this.unfit ?? {};
    const fit = all.filter(({ page = 0 }) => page < end);
    return all.flatMap((_, index) => fit[index % fit.length] ?? []);
  }

  /** Asks alone for a page that failed in a burst. @returns Whether it fails then, too, so that bursts are sent without it. */
  async #isUnfit(asked: readonly Asked[], index: number): Promise<boolean> {
    const [first, failed] = [asked[0], asked[index]];
    const { retryAfterMs: waitMs = 0 } = this.replies.at(index - asked.length) ?? {};
    if (!first || !failed || asked.length === 1 || waitMs > maxWaitMs) return false;
    const reply = await this.asking.ask(failed);
    if (reply.kind === 'unasked') return false;
    this.replies.push(reply);
    // The first page was read many times before.
    if (!isFailure(reply) || reply.evidence.status === 429 || failed.page === first.page) return false;
    this.unfit = { page: failed.page ?? 0, reply };
    this.#samples.delete(asked.length);
    return true;
  }

  /** What the failed bursts of one size say; nothing where another one has to be sent. */
  #verdict(size: number, failures: readonly Reply[]) {
    const { retryAfterMs: waitMs = 0, evidence } = itemAt(failures, failures.length - 1);
    // That is said on purpose.
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
    // Each burst of a size fails, and no smaller one: with requests that fail by chance that happens to fewer than 2 of 100 services.
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
