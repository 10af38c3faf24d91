import { map, Observable } from 'rxjs';
import { itemAt, limitReached, SourceError } from '../../core/index.js';
import { defaultThreads, Thread, threadFile, warnOfNoThread } from '../../threads/index.js';
import { openTransport, type HttpAnswer, type Transport, type Target, type TransportOptions } from '../../http/index.js';
import type { Scanned } from '../decode/scan.js';

/** An answer, possibly scanned where it was fetched. */
export interface ScannedAnswer extends HttpAnswer {
  /** The body as columns; `null` if it cannot be scanned, missing if it was not. */
  readonly scanned?: Scanned | null;
}

/** What a request brought. */
export type Outcome = { readonly answer: ScannedAnswer } | { readonly failure: Failure };

/** What creates a `SourceError`, whose class would be lost in the transfer. */
type Failure = ConstructorParameters<typeof SourceError>;

/** The form of most pages: as many rows as requested, with the same fields. */
export interface Usual {
  readonly rows: number;
  readonly names: string;
}

/** Milliseconds and bytes after which pages that came are not held back for more. */
export const togetherMost = { ms: 250, bytes: 2 * 2 ** 20 };

export interface Fetching extends Transport<ScannedAnswer> {
  /**
   * Requests pages one after another, as long as they are usual, quick and small, and nothing fails. Emits the outcomes of those
   * that were requested. Missing where this thread makes the requests.
   */
  readonly together?: (targets: readonly Target[], usual?: Usual) => Observable<readonly Outcome[]>;
}

/** A message to the thread, after the first, which has the options of its transport: to fetch something, or to cancel it. */
export type FetchMessage = FetchRequest | { readonly stop: number };

export interface FetchRequest {
  readonly id: number;
  readonly targets: readonly Target[];
  readonly usual: Usual | undefined;
  /** How many requests failed, as far as the main thread knows. */
  readonly failed: number;
}

/** A message from the thread. The buffer that an answer and its columns share is transferred. */
export type Fetched = { readonly id: number; readonly outcomes: readonly Outcome[]; readonly failed: number };

const workerFile = threadFile(() => new URL('./fetching-worker.cjs', import.meta.url));

/** Returns 1; 0 on a machine with one core, or without the thread's file. */
export function defaultFetchingThreads(): 0 | 1 {
  return defaultThreads(workerFile);
}

/** With one thread, requests are made and answers scanned there. If that is unavailable, a process warning is emitted. */
export function openFetching(options: TransportOptions, threads: number): Fetching {
  if (threads > 0 && workerFile !== undefined) return new FetchingThread(workerFile, options);
  if (threads > 0) warnOfNoThread('fetching-worker.cjs');
  return openTransport(options);
}

/** @throws {SourceError} The failure. */
export function answerOf(outcome: Outcome): ScannedAnswer {
  if ('answer' in outcome) return outcome.answer;
  throw new SourceError(...outcome.failure);
}

/** A thread that has no connection yet. */
let spare: Thread<Fetched> | undefined;

/** Starts the thread of the next connection, so that it has loaded its code when the first request is made. */
export function prepareFetching(): void {
  if (workerFile === undefined || defaultFetchingThreads() === 0 || spare?.ended === false) return;
  spare = new Thread(workerFile, 'leadstream-fetch');
  setTimeout(() => void takeSpare()?.end(), idleMs).unref();
}

function takeSpare(): Thread<Fetched> | undefined {
  const taken = spare?.ended === false ? spare : undefined;
  spare = undefined;
  return taken;
}

/** Milliseconds that an idle thread is kept: it uses about 10 MB, and starting another takes about 100 ms. */
const idleMs = 3_000;

/** Starts with the first request, unless it was prepared; ends after an idle period, and restarts when needed. */
class FetchingThread implements Fetching {
  #thread: Thread<Fetched> | undefined;
  #requests = 0;
  /** How many requests of the thread failed, as far as is known here. */
  #failed = 0;
  #idle: NodeJS.Timeout | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly file: URL,
    private readonly options: TransportOptions,
  ) {}

  get(target: Target): Observable<ScannedAnswer> {
    return this.together([target]).pipe(map((outcomes) => answerOf(itemAt(outcomes, 0))));
  }

  readonly together = (targets: readonly Target[], usual?: Usual): Observable<readonly Outcome[]> => {
    return new Observable((subscriber) => {
      const thread = this.#begin();
      const asking = {
        answered: ({ outcomes, failed }: Fetched) => {
          this.#failed = failed;
          subscriber.next(outcomes);
          subscriber.complete();
        },
        lost: (reason: string, cause: unknown) => {
          const message = `${targets[0]?.label}: the thread that fetches ended: ${reason}`;
          subscriber.error(limitReached(cause) ?? new SourceError('E_SOURCE_UNAVAILABLE', 'permanent', message));
        },
      };
      const id = thread.send(asking, (id): FetchMessage => ({ id, targets, usual, failed: this.#failed }));
      return () => {
        thread.forget(id, { stop: id } satisfies FetchMessage);
        this.#requests -= 1;
        if (this.#requests === 0) this.#idle = setTimeout(() => void this.close(), idleMs).unref();
      };
    });
  };

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#ended = Promise.all([this.#ended, this.#thread?.end()]);
    this.#thread = undefined;
    await this.#ended;
  }

  #begin(): Thread<Fetched> {
    clearTimeout(this.#idle);
    this.#requests += 1;
    if (this.#thread && !this.#thread.ended) return this.#thread;
    this.#thread = takeSpare() ?? new Thread(this.file, 'leadstream-fetch');
    this.#thread.tell(this.options);
    this.#failed = 0;
    return this.#thread;
  }
}
