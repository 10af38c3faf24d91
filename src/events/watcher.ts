import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { LeadstreamError, unknownName } from '../core/index.js';
import { moments, operations, phases, type Phase } from './channels.js';
import type { MomentEvent, MomentName, OperationEvent, OperationName } from './map.js';

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

/** A function called with the events of one name, or of one of its phases. */
export type Handler = (event: object) => void;

/** The handlers of watchers by channel name, such as `page` and `request:start`. */
export type Handlers = ReadonlyMap<string, readonly Handler[]>;

/** Describes what is wrong with a value given as watchers; `undefined` if it is valid. */
export function watchersProblem(watch: unknown): string | undefined {
  for (const watcher of [watch].flat()) {
    if (!isRecord(watcher)) return `must be an object that maps event names to functions, like { page: (event) => {} }`;
    for (const [name, handler] of [...entriesOf(watcher), ...inherited(watcher, eventNames)]) {
      if (!Object.hasOwn(moments, name) && !Object.hasOwn(operations, name)) return unknownName('event', name, eventNames);
      if (Object.hasOwn(moments, name) && typeof handler !== 'function') return `${name} must be a function`;
      if (Object.hasOwn(operations, name) && !isRecord(handler)) return `${name} must be an object with ${phases.join(', ')}`;
      for (const [phase, inner] of isRecord(handler) ? [...entriesOf(handler), ...inherited(handler, phases)] : []) {
        if (!isPhase(phase)) return unknownName(`phase of ${name}`, phase, phases);
        if (typeof inner !== 'function') return `${name}.${phase} must be a function`;
      }
    }
  }
  return undefined;
}

/** Returns the watchers' handlers, wrapped so that none can throw. */
export function handlersOf(watchers: readonly Watcher[]): Handlers {
  const handlers = new Map<string, Handler[]>();
  const add = (name: string, handler: unknown, of: object) => {
    if (isHandler(handler)) handlers.set(name, [...(handlers.get(name) ?? []), harmless(name, handler.bind(of))]);
  };
  for (const watcher of watchers)
    for (const [name, handler] of [...entriesOf(watcher), ...inherited(watcher, eventNames)]) {
      if (!isRecord(handler)) add(name, handler, watcher);
      else for (const [phase, inner] of [...entriesOf(handler), ...inherited(handler, phases)]) add(`${name}:${phase}`, inner, handler);
    }
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
    const channel = name.includes(':') ? `tracing:leadstream:${name}` : `leadstream:${name}`;
    return handlers.map((handler) => {
      const listener = (event: unknown) => isRecord(event) && handler(event);
      subscribe(channel, listener);
      return () => unsubscribe(channel, listener);
    });
  });
  return () => subscriptions.forEach((end) => end());
}

/** Returns the text of a thrown value, whose conversion to text may itself throw. */
function said(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'something that has no text';
  }
}

/** Wraps a handler so that its first failure is reported and disables it. */
function harmless(name: string, handler: (event: object) => unknown): Handler {
  let failed = false;
  const fail = (thrown: unknown) => {
    failed = true;
    process.emitWarning(`a watcher of ${name} failed and is no longer called: ${said(thrown)}`, 'LeadstreamWatcherWarning');
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

const eventNames: readonly string[] = [...Object.keys(moments), ...Object.keys(operations)];

/** Returns the entries that are not `undefined`. */
function entriesOf(record: object): readonly (readonly [string, unknown])[] {
  return Object.entries(record).filter(([, value]) => value !== undefined);
}

/** Returns the inherited properties of an object under some names; anything else in its class is ignored. */
function inherited(record: object, names: readonly string[]): readonly (readonly [string, unknown])[] {
  return names.flatMap((name) => {
    const value: unknown = Object.hasOwn(record, name) ? undefined : Reflect.get(record, name);
    return value === undefined ? [] : [[name, value] as const];
  });
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isHandler(value: unknown): value is (event: object) => unknown {
  return typeof value === 'function';
}

function isPhase(name: unknown): name is Phase {
  return phases.some((phase) => phase === name);
}
