import type { EventError, Watcher } from '../index.js';
import type { Console } from './console.js';

/**
 * Tells everything that happens, for `--log-level debug`: each request, page, step, write and commit in a line of its own.
 *
 * @returns A watcher, and `undefined` where none of it would be seen: watching has its price.
 */
export function debugLog({ level, event: say }: Console): Watcher | undefined {
  if (level !== 'debug') return undefined;
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());

  /** How long an operation took, and how it ended in words. */
  function ended(event: object & { readonly error?: EventError; readonly aborted?: true }, done: string) {
    const ms = Math.round(performance.now() - (started.get(event) ?? performance.now()));
    const how = event.error ? `failed: ${event.error.code} ${event.error.message}` : event.aborted ? 'given up' : done;
    return { facts: { ...event, ms }, how: `${how}, ${ms} ms` };
  }

  return {
    request: {
      start,
      asyncEnd: (event) => {
        const attempt = event.attempt > 1 ? ` (attempt ${event.attempt})` : '';
        const { facts, how } = ended(event, `status ${event.status}, ${event.bytes} bytes`);
        say('request.finished', facts, `request ${event.url}${attempt}: ${how}`);
      },
    },
    page: (event) => say('page.read', event, `${listOf(event)}: page ${event.number}, ${event.rows} rows, ${event.read} so far`),
    wait: (event) =>
      say('read.waiting', event, `${listOf(event)}: may have more than ${event.read} rows, and is looked at again in ${event.delayMs} ms`),
    step: (event) => say('page.processed', event, `${event.at}: page ${event.number}, ${event.rows} rows`),
    write: {
      start,
      asyncEnd: (event) => {
        const { facts, how } = ended(event, `${event.rows} rows taken`);
        say('page.written', facts, `${event.at}: page ${event.number}, ${how}`);
      },
    },
    read: {
      start: (event) => {
        start(event);
        say('read.started', event);
      },
      asyncEnd: (event) => {
        const { facts, how } = ended(event, `${event.read} rows in ${event.pages} pages`);
        say('read.finished', facts, `${listOf(event)}: ${how}`);
      },
    },
    finish: {
      start,
      asyncEnd: (event) => {
        const { facts, how } = ended(event, `finished, ${event.bytes} bytes`);
        say('output.finished', facts, `${event.at}: ${how}`);
      },
    },
    commit: {
      start,
      asyncEnd: (event) => {
        const { facts, how } = ended(event, 'done');
        say('commit.finished', facts, `commit of ${event.actions} actions: ${how}`);
      },
    },
  };
}

function listOf({ collection, at }: { readonly collection: string; readonly at: string | undefined }): string {
  return at === undefined ? collection : `${at}: ${collection}`;
}
