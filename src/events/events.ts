import { randomBytes } from 'node:crypto';
import { Observable, finalize, tap } from 'rxjs';
import { discreetMessage, LeadstreamError, printable, SourceError, type Redactor, type Warning } from '../core/index.js';
import type { EventError, MomentName, Moments, OperationName, Operations } from './map.js';
import { handlersOf, moments, operations, type Handlers, type Phase, type Watchers } from './watcher.js';

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

  /**
   * Publishes that something happened.
   *
   * @param onChannel Whether to publish it to all of the process, too.
   * @returns Whether anyone listens.
   */
  emit<N extends MomentName>(name: N, facts: () => Moments[N], onChannel = true): boolean {
    const handlers = this.#handlers.get(name) ?? [];
    const isPublic = onChannel && moments[name].hasSubscribers;
    if (handlers.length === 0 && !isPublic) return false;
    const event = Object.freeze(cleaned({ run: this.id, ...facts() }, this.redact));
    handlers.forEach((handler) => handler(event));
    if (isPublic) moments[name].publish(event);
    return true;
  }

  /**
   * Publishes a warning.
   *
   * @param onChannel False if the channel gets it elsewhere.
   * @returns Whether anyone listens.
   */
  warn({ code, message }: Warning, onChannel = true): boolean {
    return this.emit('warning', () => ({ code, message: printable(message) }), onChannel);
  }

  /**
   * Publishes the start of an operation, and how it ended.
   *
   * @param done Returns what is known after success.
   */
  async during<N extends OperationName, T>(
    name: N,
    begun: () => Operations[N]['begun'],
    work: () => Promise<T>,
    done: (value: T) => Partial<Operations[N]['done']> = () => ({}),
  ): Promise<T> {
    const operation = this.#begin(name, begun);
    if (!operation) return work();
    const value = await operation.within(work).catch((failure: unknown) => {
      operation.end({}, failure);
      throw failure;
    });
    operation.end(done(value));
    return value;
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
      const watched$ = work$.pipe(
        tap({ error: (failure: unknown) => operation.end(done(), failure), complete: () => operation.end(done()) }),
        finalize(() => operation.end({ ...done(), aborted: true })),
      );
      return operation.within(() => watched$.subscribe(subscriber));
    });
  }

  #begin<N extends OperationName>(name: N, begun: () => Operations[N]['begun']): OpenOperation | undefined {
    const isHeard = this.#watched.has(name) || operations[name].hasSubscribers;
    return isHeard ? new OpenOperation(name, cleaned({ run: this.id, ...begun() }, this.redact), this.redact, this.#handlers) : undefined;
  }
}

/** A watched operation that has begun. It publishes as `tracePromise` of `node:diagnostics_channel` does, and ends once. */
class OpenOperation {
  #ended = false;

  constructor(
    private readonly name: OperationName,
    private readonly event: object,
    private readonly redact: Redactor,
    private readonly handlers: Handlers,
  ) {}

  /** Publishes the start, and runs the work with the stores bound to the channel, such as a tracer's open span. */
  within<T>(work: () => T): T {
    const { start, end } = operations[this.name];
    this.#hand('start');
    try {
      return start.runStores(this.event, work);
    } finally {
      end.publish(this.event);
    }
  }

  /** Publishes the end, and before it the failure, if any; does nothing after that. */
  end(done: object, ...failure: readonly [failure?: unknown]): void {
    if (this.#ended) return;
    this.#ended = true;
    const { asyncStart, asyncEnd, error } = operations[this.name];
    if (failure.length > 0) {
      this.#add({ error: eventError(failure[0]) });
      this.#hand('error');
      error.publish(this.event);
    }
    this.#add(done);
    asyncStart.publish(this.event);
    this.#hand('asyncEnd');
    asyncEnd.publish(this.event);
  }

  #add(facts: object): void {
    // A watcher may have frozen the event or added a setter: neither may affect the run.
    for (const [name, value] of Object.entries(cleaned(facts, this.redact)))
      Reflect.defineProperty(this.event, name, { value, enumerable: true, writable: true, configurable: true });
  }

  #hand(phase: Phase): void {
    this.handlers.get(`${this.name}:${phase}`)?.forEach((handler) => handler(this.event));
  }
}

/** Converts a failure for events. */
export function eventError(failure: unknown): EventError {
  if (!(failure instanceof LeadstreamError)) return { code: 'UNKNOWN', message: failure instanceof Error ? failure.name : typeof failure };
  const { code } = failure;
  const message = discreetMessage(failure);
  return failure instanceof SourceError && failure.status !== undefined ? { code, message, status: failure.status } : { code, message };
}

/** Returns a copy of facts with credentials removed from its texts; nested values are frozen. Facts are texts, numbers, and lists and objects of these. */
function cleaned<T extends object>(facts: T, redact: Redactor): T {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, clean(value, redact)])) as T;
}

function clean(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return Object.freeze(value.map((item) => clean(item, redact)));
  if (typeof value === 'object' && value !== null) return Object.freeze(cleaned(value, redact));
  return value;
}

/** Creates the id of a connection. */
export function connectionId(): string {
  return `connection-${randomBytes(4).toString('hex')}`;
}
