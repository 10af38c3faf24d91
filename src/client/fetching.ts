import { existsSync } from 'node:fs';
import { Observable } from 'rxjs';
import { SourceError, type CodeOf, type FailureKind } from '../errors.js';
import { Thread } from '../threads/index.js';
import { createTransport, type Answer, type Target, type Transport, type TransportOptions } from './attempt.js';
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

/** Beside this module there is none when it runs from its TypeScript source, or in a bundle; then it fetches here. */
const workerFile = new URL('./fetching-worker.js', import.meta.url);

/**
 * A transport whose requests are made, and their answers looked through, in a thread beside this one: what is left here of a request
 * is a message.
 *
 * @param threads 1 for the thread, if there can be one.
 */
export function openTransport(options: TransportOptions, threads: number): Transport {
  return threads === 0 || !existsSync(workerFile) ? createTransport(options) : fetchingThread(options);
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
        lost: (reason: string) => {
          const message = `${target.label}: the thread that fetches ended: ${reason}`;
          subscriber.error(new SourceError('E_SOURCE_UNAVAILABLE', 'permanent', message));
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
