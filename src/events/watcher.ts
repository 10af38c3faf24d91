import { channel, subscribe, tracingChannel, unsubscribe, type Channel, type TracingChannel } from 'node:diagnostics_channel';
import { LeadstreamError, unknownName } from '../core/index.js';
import type { MomentEvent, MomentName, OperationEvent, OperationName } from './map.js';

/** Node finds a channel by name as long as it is referenced here or has subscribers. */
export const moments: Readonly<Record<MomentName, Channel>> = {
  retry: channel('leadstream:retry'),
  page: channel('leadstream:page'),
  wait: channel('leadstream:wait'),
  step: channel('leadstream:step'),
  warning: channel('leadstream:warning'),
};

export const operations: Readonly<Record<OperationName, TracingChannel>> = {
  run: tracingChannel('leadstream:run'),
  read: tracingChannel('leadstream:read'),
  request: tracingChannel('leadstream:request'),
  write: tracingChannel('leadstream:write'),
  finish: tracingChannel('leadstream:finish'),
  commit: tracingChannel('leadstream:commit'),
};

/** The phases of an operation that watchers get. */
const phases = ['start', 'error', 'asyncEnd'] as const;

export type Phase = (typeof phases)[number];

/**
 * Functions to call with events: one for each moment, and up to three for each operation.
 *
 * They are called synchronously, so they must be quick, and they cannot change what the run does. One that throws, or whose promise
 * rejects, is reported by `process.emitWarning` (`LeadstreamWatcherWarning`) and not called again; the run continues.
 *
 * @example
 * await runPipeline(pipeline, { watch: { page: ({ read }) => console.error(`${read} rows`) } });
 */
export type Watcher = {
  readonly [N in MomentName]?: ((event: MomentEvent<N>) => void) | undefined;
} & {
  readonly [N in OperationName]?: { readonly [P in Phase]?: ((event: OperationEvent<N>) => void) | undefined } | undefined;
};

/** One watcher or several. */
export type Watchers = Watcher | readonly Watcher[];

/** The handlers of watchers by channel name, such as `page` and `request:start`. */
export type Handlers = ReadonlyMap<string, readonly ((event: object) => void)[]>;

const eventNames: readonly string[] = [...Object.keys(moments), ...Object.keys(operations)];

/** Describes what is wrong with a value given as watchers; `undefined` if it is valid. */
export function watchersProblem(watch: unknown): string | undefined {
  for (const watcher of [watch].flat()) {
    if (!isRecord(watcher)) return `must be an object that maps event names to functions, like { page: (event) => {} }`;
    const unknown = Object.keys(watcher).find((name) => !eventNames.includes(name));
    if (unknown !== undefined) return unknownName('event', unknown, eventNames);
    for (const [name, handler] of partsOf(watcher, eventNames)) {
      if (Object.hasOwn(moments, name)) {
        if (typeof handler !== 'function') return `${name} must be a function`;
        continue;
      }
      if (!isRecord(handler)) return `${name} must be an object with ${phases.join(', ')}`;
      const other = Object.keys(handler).find((phase) => !phases.some((known) => known === phase));
      if (other !== undefined) return unknownName(`phase of ${name}`, other, phases);
      const [wrong] = partsOf(handler, phases).find(([, inner]) => typeof inner !== 'function') ?? [];
      if (wrong !== undefined) return `${name}.${wrong} must be a function`;
    }
  }
  return undefined;
}

/** Returns the watchers' handlers, wrapped so that none can throw. */
export function handlersOf(watchers: readonly Watcher[]): Handlers {
  const handlers = new Map<string, ((event: object) => void)[]>();
  const add = (name: string, handler: unknown, of: object) => {
    if (isHandler(handler)) handlers.set(name, [...(handlers.get(name) ?? []), harmless(name, handler.bind(of))]);
  };
  for (const watcher of watchers)
    for (const [name, handler] of partsOf(watcher, eventNames))
      if (!isRecord(handler)) add(name, handler, watcher);
      else for (const [phase, inner] of partsOf(handler, phases)) add(`${name}:${phase}`, inner, handler);
  return handlers;
}

/**
 * Watches all runs and connections of this process; `run` distinguishes them.
 *
 * It subscribes to the channels of `node:diagnostics_channel`, with types and safely: a function subscribed to a channel directly that
 * throws causes an `uncaughtException`.
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
      const listener = (event: unknown) => isRecord(event) && handler(event);
      subscribe(full, listener);
      return () => unsubscribe(full, listener);
    });
  });
  return () => subscriptions.forEach((end) => end());
}

/** Wraps a handler so that its first failure is reported and disables it. */
function harmless(name: string, handler: (event: object) => unknown): (event: object) => void {
  let failed = false;
  const fail = (thrown: unknown) => {
    failed = true;
    // Anything else that was thrown may have no text.
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

/** Returns the properties of an object under some names, inherited ones included: a watcher may be of a class. */
function partsOf(record: object, names: readonly string[]): readonly (readonly [string, unknown])[] {
  return names.map((name): readonly [string, unknown] => [name, Reflect.get(record, name)]).filter(([, value]) => value !== undefined);
}

function isHandler(value: unknown): value is (event: object) => unknown {
  return typeof value === 'function';
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
