import { randomBytes } from 'node:crypto';
import { Observable, finalize, tap } from 'rxjs';
import { printable, type Redactor, type Warning } from '../core/index.js';
import { cleaned } from './cleaned.js';
import { moments, operations } from './channels.js';
import { OpenOperation } from './operation.js';
import type { MomentName, Moments, OperationName, Operations } from './map.js';
import { handlersOf, type Handlers, type Watchers } from './watcher.js';

/**
 * The one place that publishes events of a run or connection, to its own watchers and to the process-wide channels. While nothing listens,
 * an event costs a closure, per page at most and never per row.
 *
 * No event decides anything: counts and gates get their data separately.
 */
export class Events {
  readonly #handlers: Handlers;
  /** The names that the watchers subscribe to. */
  readonly #watched: ReadonlySet<string>;

  /**
   * @param id Identifies the run or connection.
   * @param redact Removes credentials from every text.
   * @param watchers Receive only the events of this run or connection.
   */
  constructor(
    readonly id: string,
    readonly redact: Redactor,
    watchers: Watchers = [],
  ) {
    this.#handlers = handlersOf([watchers].flat());
    this.#watched = new Set([...this.#handlers.keys()].map((key) => key.replace(/:.*/, '')));
  }

  /** Publishes that something happened. */
  emit<N extends MomentName>(name: N, facts: () => Moments[N]): void {
    const channel = moments[name];
    const handlers = this.#handlers.get(name);
    if (handlers === undefined && !channel.hasSubscribers) return;
    const event = this.#event(facts());
    handlers?.forEach((handler) => handler(event));
    channel.publish(event);
  }

  /** Publishes a warning. @returns Whether anyone listens. */
  warn({ code, message }: Warning): boolean {
    this.emit('warning', () => ({ code, message: printable(message) }));
    return this.#handlers.has('warning') || moments.warning.hasSubscribers;
  }

  /** Passes a warning to the watchers only; the channels get it elsewhere. @returns Whether any watcher listens. */
  relay({ code, message }: Warning): boolean {
    const handlers = this.#handlers.get('warning');
    if (handlers === undefined) return false;
    const event = this.#event({ code, message: printable(message) });
    handlers.forEach((handler) => handler(event));
    return true;
  }

  /**
   * Publishes the start of an operation, and how it ended.
   *
   * @param done Returns what is known after success.
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
   * Publishes the start and end of an operation that is a stream; unsubscribing aborts it.
   *
   * @param done Returns what is known at the end, however it ended.
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

/** Creates the id of a connection. */
export function connectionId(): string {
  return `connection-${randomBytes(4).toString('hex')}`;
}
