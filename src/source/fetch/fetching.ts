import { Observable } from 'rxjs';
import { limitReached, SourceError, type SourceFailure } from '../../core/index.js';
import { defaultThreads, Thread, threadFile, warnOfNoThread } from '../../threads/index.js';
import { openTransport, type HttpAnswer, type Transport, type Target, type TransportOptions } from '../../http/index.js';
import type { Scanned } from '../decode/scan.js';

/** An answer, possibly scanned where it was fetched. */
export interface ScannedAnswer extends HttpAnswer {
  /** The body as columns; `null` if it cannot be scanned, missing if it was not. */
  readonly scanned?: Scanned | null;
}

/** A message to the thread, after the first, which has the options of its transport: to fetch something, or to cancel it. */
export type FetchMessage = { readonly id: number; readonly target: Target } | { readonly stop: number };

/** A message from the thread. The buffer that the answer and its columns share is transferred. */
export type Fetched = { readonly id: number } & ({ readonly answer: ScannedAnswer } | { readonly failure: Failure });

/** A `SourceError`, whose class would be lost in the transfer. */
export type Failure = Pick<SourceError, 'code' | 'kind' | 'message'> & { readonly details: SourceFailure };

const workerFile = threadFile(() => new URL('./fetching-worker.cjs', import.meta.url));

/** Returns 1; 0 on a machine with one core, or without the thread's file. */
export function defaultFetchingThreads(): 0 | 1 {
  return defaultThreads(workerFile);
}

/** With one thread, requests are made and answers scanned there. If that is unavailable, a process warning is emitted. */
export function openFetching(options: TransportOptions, threads: number): Transport<ScannedAnswer> {
  if (threads > 0 && workerFile !== undefined) return new FetchingThread(workerFile, options);
  if (threads > 0) warnOfNoThread('fetching-worker.cjs');
  return openTransport(options);
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
class FetchingThread implements Transport<ScannedAnswer> {
  #thread: Thread<Fetched> | undefined;
  #requests = 0;
  #idle: NodeJS.Timeout | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly file: URL,
    private readonly options: TransportOptions,
  ) {}

  get(target: Target): Observable<ScannedAnswer> {
    return new Observable((subscriber) => {
      const thread = this.#begin();
      const asking = {
        answered: (fetched: Fetched) => {
          if ('failure' in fetched) {
            const { code, kind, message, details } = fetched.failure;
            return subscriber.error(new SourceError(code, kind, message, details));
          }
          subscriber.next(fetched.answer);
          subscriber.complete();
        },
        lost: (reason: string, cause: unknown) => {
          const message = `${target.label}: the thread that fetches ended: ${reason}`;
          subscriber.error(limitReached(cause) ?? new SourceError('E_SOURCE_UNAVAILABLE', 'permanent', message));
        },
      };
      const id = thread.send(asking, (id): FetchMessage => ({ id, target }));
      return () => {
        thread.forget(id, { stop: id } satisfies FetchMessage);
        this.#rest();
      };
    });
  }

  async close(): Promise<void> {
    this.#end();
    await this.#ended;
  }

  #begin(): Thread<Fetched> {
    clearTimeout(this.#idle);
    this.#requests += 1;
    if (this.#thread && !this.#thread.ended) return this.#thread;
    this.#thread = takeSpare() ?? new Thread(this.file, 'leadstream-fetch');
    this.#thread.tell(this.options);
    return this.#thread;
  }

  #rest(): void {
    this.#requests -= 1;
    if (this.#requests === 0) this.#idle = setTimeout(() => this.#end(), idleMs).unref();
  }

  #end(): void {
    clearTimeout(this.#idle);
    this.#ended = Promise.all([this.#ended, this.#thread?.end()]);
    this.#thread = undefined;
  }
}
