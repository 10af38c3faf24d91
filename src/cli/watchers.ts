import { byName, type LogEvent } from '../core/index.js';
import type { Watcher } from '../index.js';
import type { CliConsole } from './console.js';

/** Watchers that report on stderr: retries and warnings, and with `--log-level debug` all other events. */
export function watchers(console: CliConsole, { retries = true }: { readonly retries?: boolean } = {}): readonly Watcher[] {
  const notices: Watcher = {
    ...(retries && {
      retry: ({ run, url, attempt, delayMs, error: { code, message } }) =>
        console.event('request.retried', { run, code, url, attempt, delayMs }, `retry ${attempt} in ${Math.round(delayMs)} ms: ${message}`),
    }),
    warning: ({ run, code, message }) => console.event('warning', { run, code }, `${code}: ${message}`),
  };
  return console.level === 'debug' ? [notices, everything(console)] : [notices];
}

const moments = ['page', 'wait', 'step'] as const satisfies readonly (LogEvent & keyof Watcher)[];
const operations = ['request', 'read', 'write', 'finish', 'commit'] as const satisfies readonly (LogEvent & keyof Watcher)[];

function everything(console: CliConsole): Watcher {
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());
  const logged = (name: LogEvent) => (event: object) => {
    const begun = started.get(event);
    const facts = { ...event, ...(begun !== undefined && { ms: Math.round(performance.now() - begun) }) };
    const words = Object.entries(facts).flatMap(([key, value]) =>
      value === undefined || key === 'run' ? [] : [`${key}=${JSON.stringify(value)}`],
    );
    console.event(name, facts, `${name} ${words.join(' ')}`);
  };
  return { ...byName(moments, logged), ...byName(operations, (name) => ({ start, asyncEnd: logged(name) })) };
}
