import { defer, Observable, switchMap } from 'rxjs';
import type { CodeOf } from '../catalogue.js';
import { limitReached, SourceError, type FailureKind } from '../errors.js';
import { defaultThreads, Thread, threadProblem } from '../threads/index.js';
import type { Answer, Target, Transport, TransportOptions } from './attempt.js';
import type { Scanned } from './scan.js';

/** What the thread is told: to fetch something, or that it is not wanted any more. */
export type Request = { readonly id: number; readonly target: Target } | { readonly stop: number };

/** What it answers. Buffers move. */
export type Fetched = { readonly id: number } & (FetchedAnswer | { readonly failure: Failure });

export interface FetchedAnswer {
  readonly status: number;
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
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

const workerFile = new URL('./fetching-worker.js', import.meta.url);

/** How many threads fetch unless told otherwise: 1, and 0 on a machine with one core, or where the file of the thread is missing. */
export function defaultFetchingThreads(): 0 | 1 {
  return defaultThreads(workerFile);
}

/**
 * A transport whose requests are made, and their answers looked through, in a thread beside this one: what is left here of a request
 * is a message.
 *
 * @param threads 1 for the thread.
 * @throws {SourceError} `E_SOURCE_CONFIG` when there can be none.
 */
export function openTransport(options: TransportOptions, threads: number): Transport {
  if (threads === 0) return fetchingHere(options);
  const problem = threadProblem(workerFile);
  if (problem !== undefined) throw new SourceError('E_SOURCE_CONFIG', 'permanent', problem);
  return fetchingThread(options);
}

/** Loads the HTTP client with the first request: where a thread fetches, this one is spared it. */
function fetchingHere(options: TransportOptions): Transport {
  let opened: Promise<Transport> | undefined;
  const open = async (): Promise<Transport> => {
    const { createTransport } = await import('./attempt.js');
    return createTransport(options);
  };
  return {
    get: (target) => defer(() => (opened ??= open())).pipe(switchMap((transport) => transport.get(target))),
    close: () =>
      void opened?.then(
        (transport) => transport.close(),
        () => {},
      ),
  };
}

function fetchingThread(options: TransportOptions): Transport {
  let started: Thread<Fetched> | undefined;

  function get(target: Target): Observable<Answer> {
    return new Observable((subscriber) => {
      const thread = (started ??= new Thread<Fetched>(workerFile, 'leadstream-fetch', options));
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
      return () => thread.forget(id, { stop: id } satisfies Request);
    });
  }

  function close(): void {
    void started?.end();
    started = undefined;
  }

  return { get, close };
}

function answerOf({ status, bytes, length, scanned }: FetchedAnswer): Answer {
  return { status, body: bytes.subarray(0, length), scanned: scanned && { ...scanned, bytes } };
}

function errorOf({ code, kind, message, status, retryAfterMs }: Failure): SourceError {
  return new SourceError(code, kind, message, { status, retryAfterMs });
}
