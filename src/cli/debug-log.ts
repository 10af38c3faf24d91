import type { EventError, Watcher } from '../index.js';
import type { Console } from './console.js';

/**
 * Tells everything that happens, for `--log-level debug`: each request, page, step, write and commit in a line of its own.
 *
 * @returns A watcher, and `undefined` where none of it would be seen: watching has its price.
 */
export function debugLog({ level, log }: Console): Watcher | undefined {
  if (level !== 'debug') return undefined;
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());
  const debug = (message: string, details: object) => log('debug', message, { ...details });

  /** How an operation ended, and how long it took. */
  function ended(event: object & { readonly error?: EventError; readonly aborted?: true }, done: string): string {
    const ms = Math.round(performance.now() - (started.get(event) ?? performance.now()));
    const how = event.error ? `failed: ${event.error.code} ${event.error.message}` : event.aborted ? 'given up' : done;
    return `${how}, ${ms} ms`;
  }

  return {
    request: {
      start,
      asyncEnd: (event) => {
        const attempt = event.attempt > 1 ? ` (attempt ${event.attempt})` : '';
        debug(`request ${event.url}${attempt}: ${ended(event, `status ${event.status}, ${event.bytes} bytes`)}`, event);
      },
    },
    page: (event) => debug(`${listOf(event)}: page ${event.number}, ${event.rows} rows, ${event.read} so far`, event),
    step: (event) => debug(`${event.at}: page ${event.number}, ${event.rows} rows`, event),
    write: { start, asyncEnd: (event) => debug(`${event.at}: page ${event.number}, ${ended(event, `${event.rows} rows taken`)}`, event) },
    read: { start, asyncEnd: (event) => debug(`${listOf(event)}: ${ended(event, `${event.read} rows in ${event.pages} pages`)}`, event) },
    finish: { start, asyncEnd: (event) => debug(`${event.at}: ${ended(event, `finished, ${event.bytes} bytes`)}`, event) },
    commit: { start, asyncEnd: (event) => debug(`commit of ${event.actions} actions: ${ended(event, 'done')}`, event) },
  };
}

function listOf({ collection, at }: { readonly collection: string; readonly at: string | undefined }): string {
  return at === undefined ? collection : `${at}: ${collection}`;
}
