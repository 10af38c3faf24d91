import { AsyncLocalStorage } from 'node:async_hooks';
import { runInContext } from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/** What jest stores along the asynchronous calls of a test or hook to identify it. */
const current = new WeakMap<AsyncLocalStorage<unknown>, unknown>();
const { run, getStore } = AsyncLocalStorage.prototype;

/**
 * Tests of a suite run one after another, so a variable can replace jest's storage. With that storage, Node before version 24 calls a hook at the
 * start and end of each promise, and passes each promise to the storages of all suites that have ended, too.
 */
AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<unknown>, store: unknown, ...rest: unknown[]): unknown {
  const [callback, ...given] = rest as [(...given: unknown[]) => unknown, ...unknown[]];
  if (!isOfJest(store)) return run.call(this, store, callback, ...given);
  const before = current.get(this);
  const restore = () => void current.set(this, before);
  current.set(this, store);
  const result = callback(...given);
  // Promises of a suite belong to its own realm.
  if (isThenable(result)) void result.then(restore, restore);
  else restore();
  return result;
} as typeof run;
AsyncLocalStorage.prototype.getStore = function (this: AsyncLocalStorage<unknown>): unknown {
  return current.has(this) ? current.get(this) : getStore.call(this);
};

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function isOfJest(store: unknown): boolean {
  return typeof store === 'object' && store !== null && ('test' in store || 'hook' in store);
}

/**
 * The Node environment for tests, with globals of the language as fast as outside of jest.
 *
 * jest runs tests in a context of `node:vm`, whose global object calls an interceptor for each use of `Math` or `Uint8Array`: a loop over bytes took
 * fifty times as long, most suites twice. A constant of a script is found before the global object. Replacing such a global therefore has no effect:
 * a clock is passed in, and no test replaces `Date`.
 */
// oxlint-disable-next-line import/no-default-export -- jest takes what a module exports as default
export default class FastGlobals extends TestEnvironment {
  override async setup(): Promise<void> {
    await super.setup();
    if (this.context === null) throw new Error('no context');
    const found = Object.entries(Object.getOwnPropertyDescriptors(this.global));
    const names = found.filter(([name, { value, configurable }]) => /^[A-Z]\w*$/.test(name) && configurable && value !== undefined);
    runInContext(names.map(([name]) => `const ${name} = globalThis.${name};`).join('\n'), this.context);
  }
}
