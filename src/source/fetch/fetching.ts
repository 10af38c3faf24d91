import { Observable } from 'rxjs';
import { type CodeOf, limitReached, SourceError, type FailureKind, type SourceFailure } from '../../core/index.js';
import { defaultThreads, Thread, threadFile, warnOfNoThread } from '../../threads/index.js';
import { openTransport, type Answer, type OpenedTransport, type Target, type TransportOptions } from '../../http/index.js';
import type { Scanned } from '../decode/scan.js';

/** An answer that may have been looked through where it was fetched. */
export interface ScannedAnswer extends Answer {
  /** The body as columns, `null` where it is none; missing when nobody has looked yet. */
  readonly scanned?: Scanned | null;
}

/** What the thread is told, once it has the options of its transport: to fetch something, or that it is not wanted any more. */
export type Request = { readonly id: number; readonly target: Target } | { readonly stop: number };

/** What it answers. Buffers move. */
export type Fetched = { readonly id: number } & (FetchedAnswer | { readonly failure: Failure });

export interface FetchedAnswer {
  readonly status: number;
  readonly link: string | undefined;
  /** The answer, and behind it what `scanned` says. */
  readonly bytes: Uint8Array;
  /** Length of the answer. */
  readonly length: number;
  readonly scanned: Omit<Scanned, 'bytes'> | null;
}

/** A `SourceError`, whose class would be lost on the way. */
export interface Failure {
  readonly code: CodeOf<'SOURCE'>;
  readonly kind: FailureKind;
  readonly message: string;
  readonly details: SourceFailure;
}

const workerFile = threadFile(() => new URL('./fetching-worker.cjs', import.meta.url));

/** How many threads fetch unless told otherwise: 1, and 0 on a machine with one core, or where the file of the thread is missing. */
export function defaultFetchingThreads(): 0 | 1 {
  return defaultThreads(workerFile);
}

/**
 * A transport of this thread, or one whose requests are made, and their answers looked through, in a thread next to this one: what is
 * left here of a request is a message.
 *
 * @param threads 1 for the thread; where there can be none, a warning of the process says so, and requests are made here.
 */
export function openFetching(options: TransportOptions, threads: number): OpenedTransport<ScannedAnswer> {
  if (threads === 0) return openTransport(options);
  if (workerFile !== undefined) return new FetchingThread(workerFile, options);
  warnOfNoThread('fetching-worker.cjs');
  return openTransport(options);
}

/**
 * How long a thread without requests lives on, in milliseconds: it holds some 10 MB, and the next one takes some 100 ms to load what
 * it needs.
 */
const idleMs = 3_000;

/** A thread that loads what it needs before anybody has options for it. */
let spare: { readonly thread: Thread<Fetched>; readonly unused: NodeJS.Timeout } | undefined;

/**
 * Starts a thread for the first connection that wants one, for a program that knows it will read but not yet what. Does nothing where there are no
 * threads; one that nobody wants ends after three seconds.
 */
export function prepareFetching(): void {
  if (workerFile === undefined || defaultFetchingThreads() === 0 || spare !== undefined) return;
  const thread = startThread(workerFile);
  spare = { thread, unused: setTimeout(() => void takeSpare()?.end(), idleMs).unref() };
}

function takeSpare(): Thread<Fetched> | undefined {
  const taken = spare;
  clearTimeout(taken?.unused);
  spare = undefined;
  return taken?.thread.ended ? undefined : taken?.thread;
}

function startThread(file: URL): Thread<Fetched> {
  return new Thread(file, 'leadstream-fetch');
}

/** Starts with the first request or before it, ends when there was none for a while, and starts again. */
class FetchingThread implements OpenedTransport<ScannedAnswer> {
  #thread: Thread<Fetched> | undefined;
  #requests = 0;
  #idle: NodeJS.Timeout | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly file: URL,
    private readonly options: TransportOptions,
  ) {}

  prepare(): void {
    this.#begin();
    this.#rest();
  }

  get(target: Target): Observable<ScannedAnswer> {
    return new Observable((subscriber) => {
      const thread = this.#begin();
      const asking = {
        answered: (fetched: Fetched) => {
          if ('failure' in fetched) return subscriber.error(errorOf(fetched.failure));
          subscriber.next(answerOf(fetched));
          subscriber.complete();
        },
        lost: (reason: string, cause: unknown) => {
          const message = `${target.label}: the thread that fetches ended: ${reason}`;
          subscriber.error(limitReached(cause) ?? new SourceError('E_SOURCE_UNAVAILABLE', 'permanent', message));
        },
      };
      const id = thread.ask(asking, (id): Request => ({ id, target }));
      return () => {
        thread.forget(id, { stop: id } satisfies Request);
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
    if (this.#thread === undefined || this.#thread.ended) {
      this.#thread = takeSpare() ?? startThread(this.file);
      this.#thread.say(this.options);
    }
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

function answerOf({ status, link, bytes, length, scanned }: FetchedAnswer): ScannedAnswer {
  return { status, link, body: bytes.subarray(0, length), scanned: scanned && { ...scanned, bytes } };
}

function errorOf({ code, kind, message, details }: Failure): SourceError {
  return new SourceError(code, kind, message, details);
}
