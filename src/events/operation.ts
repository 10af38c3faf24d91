import type { Redactor } from '../core/index.js';
import { operations, type Phase } from './channels.js';
import { cleaned } from './cleaned.js';
import { eventError } from './event-error.js';
import type { OperationName } from './map.js';
import type { Handlers } from './watcher.js';

/** A watched operation that has begun. It publishes as `tracePromise` of `node:diagnostics_channel` does, and ends once. */
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

  /** Publishes the start, and runs the work with the stores bound to the channel, such as a tracer's open span. */
  within<T>(work: () => T): T {
    const { start, end } = operations[this.name];
    this.#hand('start');
    try {
      return start.runStores(this.#event, work);
    } finally {
      end.publish(this.#event);
    }
  }

  /** Publishes a failure, and the end. */
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

  /** Publishes that the operation was aborted, unless it has ended. */
  abandon(done: object): void {
    this.end({ ...done, aborted: true });
  }

  #add(facts: object): void {
    // A watcher may have frozen the event or added a setter: neither may affect the run.
    for (const [name, value] of Object.entries(cleaned(facts, this.redact)))
      Reflect.defineProperty(this.#event, name, { value, enumerable: true, writable: true, configurable: true });
  }

  #hand(phase: Phase): void {
    this.handlers.get(`${this.name}:${phase}`)?.forEach((handler) => handler(this.#event));
  }
}
