import { randomBytes } from 'node:crypto';
import { Observable, finalize, tap } from 'rxjs';
import { printable, type Redactor, type Warning } from '../core/index.js';
import { cleaned } from './cleaned.js';
import { moments, operations } from './channels.js';
import { OpenOperation } from './operation.js';
import type { MomentName, Moments, OperationName, Operations } from './map.js';
import { handlersOf, type Handlers, type Watchers } from './watcher.js';

/**
 * The one seam to watch a run or a connection by. Whoever does something says so here; the watchers that it was given, and the channels
 * of the process, get it. While nobody listens, nothing is made but a closure, for a page at most and never for a row.
 *
 * No event decides anything: what counts and gates rest on goes its own way.
 */
export class Events {
  readonly #handlers: Handlers;
  /** The names of what the watchers want to know. */
  readonly #watched: ReadonlySet<string>;

  /**
   * @param id What tells the run or connection apart.
   * @param redact Takes the credentials out of every text.
   * @param watchers Get the events of this run or connection alone.
   */
  constructor(
    readonly id: string,
    readonly redact: Redactor,
    watchers: Watchers = [],
  ) {
    this.#handlers = handlersOf([watchers].flat());
    this.#watched = new Set([...this.#handlers.keys()].map((key) => key.replace(/:.*/, '')));
  }

  /** Says that something happened. */
  emit<N extends MomentName>(name: N, facts: () => Moments[N]): void {
    const channel = moments[name];
    const handlers = this.#handlers.get(name);
    if (handlers === undefined && !channel.hasSubscribers) return;
    const event = this.#event(facts());
    handlers?.forEach((handler) => handler(event));
    channel.publish(event);
  }

  /** Says that something was recognised that is no failure. @returns Whether somebody listens. */
  warn({ code, message }: Warning): boolean {
    this.emit('warning', () => ({ code, message: printable(message) }));
    return this.#handlers.has('warning') || moments.warning.hasSubscribers;
  }

  /** Tells the watchers alone of a warning that the channels have from somebody else. @returns Whether one of them listens. */
  relay({ code, message }: Warning): boolean {
    const handlers = this.#handlers.get('warning');
    if (handlers === undefined) return false;
    const event = this.#event({ code, message: printable(message) });
    handlers.forEach((handler) => handler(event));
    return true;
  }

  /**
   * Says that an operation begins, and how it ends.
   *
   * @param done What is known when it has done what it should.
   */
  during<N extends OperationName, T>(
    name: N,
    begun: () => Operations[N]['begun'],
    work: () => Promise<T>,
    done: (value: T) => Partial<Operations[N]['done']> = () => ({}),
  ): Promise<T> {
    const operation = this.#begin(name, begun);
    return operation ? told(operation, work, done) : work();
  }

  /**
   * The same for an operation that is a stream; unsubscribing gives it up.
   *
   * @param done What is known at its end, however that is.
   */
  during$<N extends OperationName, T>(
    name: N,
    begun: () => Operations[N]['begun'],
    work$: Observable<T>,
    done: () => Partial<Operations[N]['done']> = () => ({}),
  ): Observable<T> {
    return new Observable((subscriber) => {
      const operation = this.#begin(name, begun);
      if (!operation) return work$.subscribe(subscriber);
      const told$ = work$.pipe(
        tap({ error: (failure: unknown) => operation.fail(failure, done()), complete: () => operation.end(done()) }),
        finalize(() => operation.abandon(done())),
      );
      return operation.within(() => told$.subscribe(subscriber));
    });
  }

  #event<F extends object>(facts: F): F & { readonly run: string } {
    return Object.freeze(cleaned({ run: this.id, ...facts }, this.redact));
  }

  #begin<N extends OperationName>(name: N, begun: () => Operations[N]['begun']): OpenOperation | undefined {
    const isHeard = this.#watched.has(name) || operations[name].hasSubscribers;
    return isHeard ? new OpenOperation(name, { run: this.id, ...begun() }, this.redact, this.#handlers) : undefined;
  }
}

async function told<T>(operation: OpenOperation, work: () => Promise<T>, done: (value: T) => object): Promise<T> {
  const value = await operation.within(work).catch((failure: unknown) => {
    operation.fail(failure, {});
    throw failure;
  });
  operation.end(done(value));
  return value;
}

/** The id of a connection. */
export function connectionId(): string {
  return `connection-${randomBytes(4).toString('hex')}`;
}
