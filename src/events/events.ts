import { channel, subscribe, tracingChannel, unsubscribe, type Channel, type TracingChannel } from 'node:diagnostics_channel';
import { Observable, finalize, tap } from 'rxjs';
import { byName, discreetMessage, isMap, LeadstreamError, printable, SourceError, unknownName } from '../core/index.js';
import type { Redactor, Warning } from '../core/index.js';
import type { EventError, MomentName, Moments, OperationName, Operations, MomentEvent, OperationEvent } from './map.js';

/** Publishes the events of a run or connection to its watchers and to the channels of the process. Events decide nothing. */
export class Events {
  readonly #handlers: Handlers;
  readonly #watched: ReadonlySet<string>;

  constructor(
    readonly id: string,
    readonly redact: Redactor,
    watchers: Watchers = [],
  ) {
    this.#handlers = handlersOf([watchers].flat());
    this.#watched = new Set([...this.#handlers.keys()].map((key) => key.replace(/:.*/, '')));
  }

  /** Publishes that something happened, with `onChannel` to the whole process. @returns Whether anyone listens. */
  emit<N extends MomentName>(name: N, facts: () => Moments[N], onChannel = true): boolean {
    const handlers = this.#handlers.get(name) ?? [];
    const isPublic = onChannel && moments[name].hasSubscribers;
    if (handlers.length === 0 && !isPublic) return false;
    const event = Object.freeze(cleaned({ run: this.id, ...facts() }, this.redact));
    handlers.forEach((handler) => handler(event));
    if (isPublic) moments[name].publish(event);
    return true;
  }

  /** Returns whether somebody follows operations from their beginning. */
  follows(name: OperationName): boolean {
    return this.#handlers.has(`${name}:start`) || operations[name].hasSubscribers;
  }

  warn({ code, message }: Warning, onChannel = true): boolean {
    return this.emit('warning', () => ({ code, message: printable(message) }), onChannel);
  }

  /** Publishes the start and the end of an operation. @param done Returns the facts known after success. */
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

  /** Does the same for a stream; unsubscribing aborts it. @param done Returns the facts known at the end, whatever it was. */
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

/** Publishes as `tracePromise` of `node:diagnostics_channel` does, and ends once. */
class OpenOperation {
  #ended = false;

  constructor(
    private readonly name: OperationName,
    private readonly event: object,
    private readonly redact: Redactor,
    private readonly handlers: Handlers,
  ) {}

  /** Runs the work with the stores bound to the channel, such as a tracer's open span. */
  within<T>(work: () => T): T {
    const { start, end } = operations[this.name];
    this.#hand('start');
    try {
      return start.runStores(this.event, work);
    } finally {
      end.publish(this.event);
    }
  }

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
    // A watcher may have frozen the event or added a setter; neither may affect the run.
    for (const [name, value] of Object.entries(cleaned(facts, this.redact)))
      Reflect.defineProperty(this.event, name, { value, enumerable: true, writable: true, configurable: true });
  }

  #hand(phase: Phase): void {
    this.handlers.get(`${this.name}:${phase}`)?.forEach((handler) => handler(this.event));
  }
}

export function eventError(failure: unknown): EventError {
  if (!(failure instanceof LeadstreamError)) return { code: 'UNKNOWN', message: failure instanceof Error ? failure.name : typeof failure };
  const status = failure instanceof SourceError ? failure.status : undefined;
  return { code: failure.code, message: discreetMessage(failure), ...(status !== undefined && { status }) };
}

/** Returns a copy without credentials; nested values are frozen. */
function cleaned<T extends object>(facts: T, redact: Redactor): T {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, clean(value, redact)])) as T;
}

function clean(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return Object.freeze(value.map((item) => clean(item, redact)));
  if (typeof value === 'object' && value !== null) return Object.freeze(cleaned(value, redact));
  return value;
}

/** Node keeps a named channel only while it is referenced here or has subscribers. */
const moments: Readonly<Record<MomentName, Channel>> = byName(['retry', 'page', 'wait', 'step', 'warning'], (name) =>
  channel(`leadstream:${name}`),
);

const operations: Readonly<Record<OperationName, TracingChannel>> = byName(
  ['run', 'read', 'request', 'write', 'finish', 'commit'],
  (name) => tracingChannel(`leadstream:${name}`),
);

const phases = ['start', 'error', 'asyncEnd'] as const;

type Phase = (typeof phases)[number];

/**
 * Functions to call with events: one per moment, up to three per operation. They are called synchronously, so they must be quick. One that
 * throws, or whose promise rejects, is reported by `process.emitWarning` (`LeadstreamWatcherWarning`) and dropped; the run continues.
 *
 * @example
 * await runPipeline(pipeline, { watch: { page: ({ read }) => console.error(`${read} rows`) } });
 */
export type Watcher = {
  readonly [N in MomentName]?: ((event: MomentEvent<N>) => void) | undefined;
} & {
  readonly [N in OperationName]?: { readonly [P in Phase]?: ((event: OperationEvent<N>) => void) | undefined } | undefined;
};

/** One or more watchers. */
export type Watchers = Watcher | readonly Watcher[];

type Handlers = ReadonlyMap<string, readonly ((event: object) => void)[]>;

const eventNames: readonly string[] = [...Object.keys(moments), ...Object.keys(operations)];

/** Describes what is wrong with the value of `watch`; `undefined` if it is valid. */
export function watchersProblem(watch: unknown): string | undefined {
  for (const watcher of [watch].flat()) {
    if (!isMap(watcher)) return `must be an object that maps event names to functions, like { page: (event) => {} }`;
    const unknown = Object.keys(watcher).find((name) => !eventNames.includes(name));
    if (unknown !== undefined) return unknownName('event', unknown, eventNames);
  }
  return undefined;
}

function handlersOf(watchers: readonly Watcher[]): Handlers {
  const handlers = new Map<string, ((event: object) => void)[]>();
  const add = (name: string, handler: unknown, of: object) => {
    if (isHandler(handler)) handlers.set(name, [...(handlers.get(name) ?? []), harmless(name, handler.bind(of))]);
  };
  for (const watcher of watchers)
    for (const [name, handler] of partsOf(watcher, eventNames))
      if (!isMap(handler)) add(name, handler, watcher);
      else for (const [phase, inner] of partsOf(handler, phases)) add(`${name}:${phase}`, inner, handler);
  return handlers;
}

/**
 * Watches all runs and connections of this process, by the channels of `node:diagnostics_channel`; `run` distinguishes them.
 *
 * @returns Ends the subscription.
 * @throws {LeadstreamError} `E_USAGE`, synchronously, for an invalid watcher.
 *
 * @example
 * const end = watch({ retry: ({ url, attempt, delayMs }) => console.error(`attempt ${attempt} of ${url} failed, next in ${delayMs} ms`) });
 * for await (const lead of service.leads) await store(lead);
 * end();
 */
export function watch(watcher: Watcher): () => void {
  const problem = Array.isArray(watcher) ? 'must be one object that maps event names to functions' : watchersProblem(watcher);
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `watch: ${problem}`);
  const subscriptions = [...handlersOf([watcher])].flatMap(([name, handlers]) => {
    const full = name.includes(':') ? `tracing:leadstream:${name}` : `leadstream:${name}`;
    return handlers.map((handler) => {
      const listener = (event: unknown) => isMap(event) && handler(event);
      subscribe(full, listener);
      return () => unsubscribe(full, listener);
    });
  });
  return () => subscriptions.forEach((end) => end());
}

function harmless(name: string, handler: (event: object) => unknown): (event: object) => void {
  let failed = false;
  const fail = (thrown: unknown) => {
    failed = true;
    // Other thrown values may have no text.
    const what = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : typeof thrown;
    process.emitWarning(`a watcher of ${name} failed and is no longer called: ${what}`, 'LeadstreamWatcherWarning');
  };
  return (event) => {
    if (failed) return;
    try {
      const result = handler(event);
      if (result instanceof Promise) result.catch(fail);
    } catch (thrown) {
      fail(thrown);
    }
  };
}

/** Returns properties of an object, also inherited ones: a watcher may be an instance of a class. */
function partsOf(record: object, names: readonly string[]): readonly (readonly [string, unknown])[] {
  return names.map((name): readonly [string, unknown] => [name, Reflect.get(record, name)]).filter(([, value]) => value !== undefined);
}

function isHandler(value: unknown): value is (event: object) => unknown {
  return typeof value === 'function';
}
