import { amountOf, type LogEvent } from '../core/index.js';
import type { EventError, Watcher } from '../index.js';
import type { Console } from './console.js';

/**
 * Logs everything that happens, for `--log-level debug`: each request, page, step, write and commit on its own line.
 *
 * @returns A watcher, or `undefined` if none of it would be shown: watching has its price.
 */
export function debugLog({ level, event: say }: Console): Watcher | undefined {
  return level === 'debug' ? { ...moments(say), ...operations(say) } : undefined;
}

function moments(say: Console['event']): Watcher {
  return {
    page: (event) =>
      say('page.read', event, `${listOf(event)}: page ${event.number}, ${amountOf(event.rows, 'row')}, ${event.read} so far`),
    wait: (event) =>
      say(
        'read.waiting',
        event,
        `${listOf(event)}: may have more than ${amountOf(event.read, 'row')}, and is checked again in ${event.delayMs} ms`,
      ),
    step: (event) => say('page.processed', event, `${event.at}: page ${event.number}, ${amountOf(event.rows, 'row')}`),
  };
}

/** How an operation ended. */
interface Ending {
  readonly error?: EventError;
  readonly aborted?: true;
}

function operations(say: Console['event']): Watcher {
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());

  /** Logs how long an operation took and how it ended. */
  function end(name: LogEvent, event: object & Ending, what: string, done: string): void {
    const ms = Math.round(performance.now() - (started.get(event) ?? performance.now()));
    const how = event.error ? `failed: ${event.error.code} ${event.error.message}` : event.aborted ? 'aborted' : done;
    say(name, { ...event, ms }, `${what}${how}, ${ms} ms`);
  }

  return {
    request: {
      start,
      asyncEnd: (event) => {
        const attempt = event.attempt > 1 ? ` (attempt ${event.attempt})` : '';
        end('request.finished', event, `request ${event.url}${attempt}: `, `status ${event.status}, ${event.bytes} bytes`);
      },
    },
    write: {
      start,
      asyncEnd: (event) => end('page.written', event, `${event.at}: page ${event.number}, `, `${amountOf(event.rows, 'row')} taken`),
    },
    read: {
      start: (event) => {
        start(event);
        say('read.started', event);
      },
      asyncEnd: (event) =>
        end('read.finished', event, `${listOf(event)}: `, `${amountOf(event.read ?? 0, 'row')} in ${amountOf(event.pages ?? 0, 'page')}`),
    },
    finish: {
      start,
      asyncEnd: (event) => end('output.finished', event, `${event.at}: `, `finished, ${event.bytes} bytes`),
    },
    commit: {
      start,
      asyncEnd: (event) => end('commit.finished', event, `commit of ${event.actions} actions: `, 'done'),
    },
  };
}

function listOf({ collection, at }: { readonly collection: string; readonly at: string | undefined }): string {
  return at === undefined ? collection : `${at}: ${collection}`;
}
