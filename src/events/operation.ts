import type { Redactor } from '../core/index.js';
import { operations, type Phase } from './channels.js';
import { cleaned } from './cleaned.js';
import { eventError } from './event-error.js';
import type { OperationName } from './map.js';
import type { Handlers } from './watcher.js';

/** An operation that has begun and that somebody watches, told as `tracePromise` of `node:diagnostics_channel` does. It ends once. */
export class OpenOperation {
  readonly #event: object;
  #ended = false;

  constructor(
    private readonly name: OperationName,
    begun: object,
    private readonly redact: Redactor,
    private readonly handlers: Handlers,
  ) {
    this.#event = cleaned(begun, redact);
  }

  /** Tells the start, and does the work with what is bound to the channel, as a tracer does with the span that is open. */
  within<T>(work: () => T): T {
    const { start, end } = operations[this.name];
    this.#hand('start');
    try {
      return start.runStores(this.#event, work);
    } finally {
      end.publish(this.#event);
    }
  }

  /** Tells a failure, and the end. */
  fail(failure: unknown, done: object): void {
    if (this.#ended) return;
    this.#add({ error: eventError(failure) });
    this.#hand('error');
    operations[this.name].error.publish(this.#event);
    this.end(done);
  }

  end(done: object): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#add(done);
    const { asyncStart, asyncEnd } = operations[this.name];
    asyncStart.publish(this.#event);
    this.#hand('asyncEnd');
    asyncEnd.publish(this.#event);
  }

  /** Tells that nobody waits any more, unless it has ended. */
  abandon(done: object): void {
    this.end({ ...done, aborted: true });
  }

  #add(facts: object): void {
    // A watcher may have frozen it, or put a setter there: neither is the run's affair.
    for (const [name, value] of Object.entries(cleaned(facts, this.redact)))
      Reflect.defineProperty(this.#event, name, { value, enumerable: true, writable: true, configurable: true });
  }

  #hand(phase: Phase): void {
    this.handlers.get(`${this.name}:${phase}`)?.forEach((handler) => handler(this.#event));
  }
}
