import { setTimeout as wait } from 'node:timers/promises';
import { lastValueFrom } from 'rxjs';
import { type LeadstreamError, onAbort, SourceError, stoppedBy, type Redactor } from '../core/index.js';
import type { Events } from '../events/index.js';
import {
  headersOf,
  openTransport,
  queryOf,
  secretsOf,
  type Answer,
  type Credentials,
  type OpenedTransport,
  type TransportOptions,
} from '../http/index.js';
import { maxTimerMs } from '../options/index.js';
import { SentAlone } from './alone.js';
import { pathOf, positionOf, shownAs, targetOf, urlOf, type Asked } from './asked.js';
import { declaredPage } from '../source/index.js';
import type { Sample } from './chance.js';
import { declaredReplyOf, failureOf, isPassing, replyOf, type Reply } from './reply.js';

/** How to send requests to a service. */
export interface RequesterOptions {
  readonly connection: Omit<TransportOptions, 'query' | 'headers' | 'concurrency'>;
  readonly maxRequests: number;
  readonly ratePerSecond: number;
  readonly redact: Redactor;
  readonly signal: AbortSignal | undefined;
  readonly events: Events;
}

/** Maximum number of attempts for failures that a retry may fix, and for answers that did not arrive in time. */
const attempts = 3;
const attemptsInVain = 2;
/** Number of consecutive requests without an answer, after which no more are sent. */
const patience = 2;
/** The longest wait accepted when the service asks for one. */
export const maxWaitMs = 10_000;

/** Sends requests to a service at a limited pace and number, and records how long each answer took. */
export class Requester {
  readonly #transports = new Map<string, OpenedTransport>();
  readonly #timed: { readonly path: string; readonly page: number | undefined; readonly limit: number; readonly reply: Reply }[] = [];
  readonly #alone = new SentAlone();
  #sent = 0;
  #nextStart = 0;
  #failedInARow = 0;
  #tooOften = 0;
  /** The wait requested by the service, if it is too long. */
  #waitMs: number | undefined;

  /** @param auth Default credentials of requests. */
  constructor(
    private readonly options: RequesterOptions,
    public auth: Credentials,
  ) {}

  /** Number of requests sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Number of requests that may still be sent. */
  get left(): number {
    return this.isGivenUp ? 0 : this.options.maxRequests - this.#sent;
  }

  get isGivenUp(): boolean {
    return this.#failedInARow >= patience || this.#waitMs !== undefined;
  }

  /** Number of requests sent one at a time and answered with 429. */
  get tooOften(): number {
    return this.#tooOften;
  }

  /** Why no more requests are sent. */
  get exhausted(): string {
    if (this.#waitMs !== undefined) return `the service asks to wait ${Math.ceil(this.#waitMs / 1000)} s`;
    return this.isGivenUp ? 'the service stopped answering' : `the ${this.options.maxRequests} requests were used up`;
  }

  /** Returns the full pages of a list received so far, of the requested size. */
  timed(asked: Asked): readonly Reply[] {
    const full = this.#timed.filter(
      ({ path, limit, reply }) => path === pathOf(asked) && limit === asked.limit && reply.records.length === limit,
    );
    return full.map(({ reply }) => reply);
  }

  /** Returns the pages of a list received so far, with the requested size. */
  pages(asked: Asked): readonly { readonly page: number; readonly limit: number; readonly rows: number }[] {
    return this.#timed.flatMap(({ path, page, limit, reply }) =>
      path === pathOf(asked) && page !== undefined && reply.kind === 'rows' ? [{ page, limit, rows: reply.records.length }] : [],
    );
  }

  /** Counts the requests of a list that were sent one at a time and can be answered, including retries. */
  alone(asked: Asked): Sample {
    return this.#alone.of(pathOf(asked));
  }

  /** Sends one request. Transient failures are retried, which counts again. Never throws for what the service does. */
  async ask(asked: Asked): Promise<Reply> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.left <= 0) return this.#unasked(asked);
      await this.#turn(1);
      const reply = await this.#send(asked, attempt);
      const { retryAfterMs = 0 } = reply;
      this.#countAlone(asked, reply);
      this.#failedInARow = reply.kind === 'failed' && reply.evidence.status === undefined ? this.#failedInARow : 0;
      if (reply.kind !== 'failed') return reply;
      const isLast = attempt >= (reply.evidence.status === undefined ? attemptsInVain : attempts);
      if (isLast) this.#failedInARow += reply.evidence.status === undefined ? 1 : 0;
      if (isLast || retryAfterMs > maxWaitMs) return reply;
      const delayMs = Math.max(retryAfterMs, 100 * attempt);
      const { status, answer: message } = reply.evidence;
      const error = { code: 'E_SOURCE_UNAVAILABLE' as const, message, ...(status !== undefined && { status }) };
      this.options.events.emit('retry', () => ({ url: this.#urlOf(asked), attempt, delayMs, error }));
      await this.#pause(delayMs);
    }
  }

  /** Sends several requests at once, each one only once. The average pace is kept: later requests wait, also for as long as the service asks. */
  async askTogether(all: readonly Asked[]): Promise<readonly Reply[]> {
    if (this.left < all.length) return all.map((asked) => this.#unasked(asked));
    await this.#turn(all.length);
    const replies = await Promise.all(all.map((asked) => this.#send(asked, 1)));
    const [asked, reply] = [all[0], replies[0]];
    if (asked && reply && all.length === 1) this.#countAlone(asked, reply);
    return replies;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }

  async #send(asked: Asked, attempt: number): Promise<Reply> {
    this.#sent += 1;
    const { auth = this.auth, page, limit } = asked;
    const request = this.#shown(asked);
    const began = performance.now();
    const took = () => Math.round(performance.now() - began);
    const target = { ...targetOf(asked), label: request, purpose: 'probe', anyStatus: true } as const;
    const answer$ = this.#transportFor(auth).get(target);
    try {
      const answer = await this.options.events.during(
        'request',
        () => ({ url: this.#urlOf(asked), collection: asked.collection.name, page: asked.page, purpose: 'probe', attempt }),
        () => this.#stoppable(lastValueFrom(answer$)),
        ({ status, body }) => ({ status, bytes: body.length }),
      );
      const reply = this.#replyTo(asked, answer, took());
      const told = { ...reply, evidence: { ...reply.evidence, answer: this.options.redact(reply.evidence.answer) } };
      // The first request also includes loading and connecting.
      if (limit !== undefined && this.#sent > 1 && !isPassing(answer.status))
        this.#timed.push({ path: pathOf(asked), page, limit, reply: told });
      return this.#heeded(told);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      return failureOf(request, error.saying(this.options.redact(error.message)), took());
    }
  }

  #replyTo(asked: Asked, answer: Answer, ms: number): Reply {
    const { collection } = asked;
    const { served } = collection;
    const label = this.#shown(asked);
    if (!served || asked.id !== undefined) return replyOf(label, answer, ms);
    const { limit = 1, auth = this.auth } = asked;
    const surroundings = { baseUrl: this.options.connection.baseUrl, secrets: secretsOf(auth) };
    const asking = { served, label, position: positionOf(asked, served), limit, surroundings };
    return declaredReplyOf(label, answer, ms, served, () => declaredPage(collection, answer, asking));
  }

  #countAlone(asked: Asked, reply: Reply): void {
    const { page, limit, id, auth } = asked;
    this.#alone.count(pathOf(asked), JSON.stringify([page, limit, id, auth]), reply);
    this.#tooOften += reply.evidence.status === 429 ? 1 : 0;
  }

  /** A time to wait set by the service applies to every request. */
  #heeded(reply: Reply): Reply {
    const { retryAfterMs: waitMs = 0, evidence } = reply;
    if (waitMs <= maxWaitMs) this.#nextStart = Math.max(this.#nextStart, performance.now() + waitMs);
    else if (evidence.status === 429) this.#waitMs = waitMs;
    return reply;
  }

  #unasked(asked: Asked): Reply {
    const evidence = { request: this.#shown(asked), status: undefined, answer: `not sent: ${this.exhausted}`, ms: 0 };
    return { kind: 'unasked', records: [], evidence };
  }

  /** Each form of credentials has its own connections. */
  #transportFor(auth: Credentials): OpenedTransport {
    const key = JSON.stringify(auth);
    const known = this.#transports.get(key);
    if (known) return known;
    const transport = openTransport({ ...this.options.connection, query: queryOf(auth), headers: headersOf(auth), concurrency: 16 });
    this.#transports.set(key, transport);
    return transport;
  }

  #shown(asked: Asked): string {
    return shownAs(asked, asked.auth ?? this.auth, this.options.connection.baseUrl);
  }

  #urlOf(asked: Asked): string {
    return urlOf(asked, asked.auth ?? this.auth, this.options.connection.baseUrl);
  }

  async #turn(requests: number): Promise<void> {
    const now = performance.now();
    const start = Math.max(now, this.#nextStart);
    this.#nextStart = start + (requests * 1000) / this.options.ratePerSecond;
    await this.#pause(start - now);
  }

  async #pause(ms: number): Promise<void> {
    this.#refuseAborted();
    if (ms > 0) await this.#stoppable(wait(Math.min(ms, maxTimerMs), undefined, { signal: this.options.signal }));
    this.#refuseAborted();
  }

  async #stoppable<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.options;
    if (!signal) return work;
    let takeBack = () => {};
    const stopped = new Promise<never>((_resolve, reject) => {
      takeBack = onAbort(signal, () => reject(aborted(signal)));
    });
    try {
      return await Promise.race([work, stopped]);
    } catch (error) {
      throw signal.aborted ? aborted(signal) : error;
    } finally {
      takeBack();
    }
  }

  #refuseAborted(): void {
    const { signal } = this.options;
    if (signal?.aborted) throw aborted(signal);
  }
}

function aborted(signal: AbortSignal): LeadstreamError {
  return stoppedBy(signal, 'the diagnosis was stopped by its signal');
}
