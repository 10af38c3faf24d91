import { AsyncLocalStorage } from 'node:async_hooks';
import { runInContext } from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/** What a suite stored along its asynchronous calls; jest itself has one such storage for each suite. */
const used = new Set<AsyncLocalStorage<unknown>>();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<unknown>, ...call: Parameters<typeof run>): unknown {
  used.add(this);
  return run.apply(this, call);
} as typeof run;

/**
 * Node for tests, where the names of the language are as fast as outside of them.
 *
 * jest runs tests in a context of `node:vm`, whose global object asks an interceptor at each use of `Math` or `Uint8Array`: a loop over
 * bytes took fifty times as long, most suites twice. A constant of a script is found before the global object. What is put in the place
 * of such a global is not seen: a clock is passed in, and no test replaces `Date`.
 *
 * Storages of suites that have ended are ended too: until Node 24 each promise is told to all of them, and they keep what a suite left.
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

  override async teardown(): Promise<void> {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
