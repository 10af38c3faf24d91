import { amountOf } from '../core/index.js';
import type { EventError, OperationEvent } from './map.js';
import type { Watcher } from './watcher.js';

/** Where lines are logged, by level: `console`, or a logger of pino, winston and others. Any level may be missing. */
export interface Logger {
  readonly debug?: ((message: string) => unknown) | undefined;
  readonly info?: ((message: string) => unknown) | undefined;
  readonly warn?: ((message: string) => unknown) | undefined;
  readonly error?: ((message: string) => unknown) | undefined;
}

const levels = ['debug', 'info', 'warn', 'error'] as const;

type Level = (typeof levels)[number];

/** Describes what is wrong with a value given as a logger; `undefined` if it is valid. */
export function loggerProblem(logger: unknown): string | undefined {
  const wanted = `must be an object with ${levels.join(', ')}, like console`;
  if (typeof logger !== 'object' || logger === null) return wanted;
  const functions = levels.filter((level) => Reflect.get(logger, level) !== undefined);
  if (functions.length === 0) return wanted;
  const wrong = functions.find((level) => typeof Reflect.get(logger, level) !== 'function');
  return wrong === undefined ? undefined : `${wrong} must be a function`;
}

/**
 * Logs events: requests and pages as `debug`; the end of each read, and waits at the end of a list, as `info`; retries and warnings as
 * `warn`; failed reads as `error`.
 */
export function logging(logger: Logger): Watcher {
  // Called as methods: loggers rely on `this`.
  const log = (level: Level, message: string) => void logger[level]?.(`leadstream: ${message}`);
  return {
    retry: ({ url, attempt, delayMs, error }) =>
      log('warn', `${url}: attempt ${attempt} failed, retrying in ${Math.round(delayMs)} ms: ${error.message}`),
    warning: ({ code, message }) => log('warn', `${code}: ${message}`),
    wait: ({ collection, read, delayMs }) =>
      log(
        'info',
        `${collection}: seems to end after ${amountOf(read, 'row')}, which may be an outage; checking again in ${delayMs} ms (endWaitMs)`,
      ),
    read: { asyncEnd: (event) => log(event.error ? 'error' : 'info', readLine(event)) },
    ...(logger.debug && {
      request: { asyncEnd: (event) => log('debug', requestLine(event)) },
      page: ({ collection, number, rows, read }) => log('debug', `${collection}: page ${number}, ${amountOf(rows, 'row')}, ${read} so far`),
    }),
  };
}

function readLine({ collection, read = 0, pages = 0, error, aborted }: OperationEvent<'read'>): string {
  const amount = `${amountOf(read, 'row')} in ${amountOf(pages, 'page')}`;
  if (error) return `${collection}: ${failed(error)} after ${amount}`;
  return `${collection}: ${aborted ? 'aborted after' : 'read,'} ${amount}`;
}

function requestLine({ url, attempt, status, bytes, error, aborted }: OperationEvent<'request'>): string {
  const end = error ? failed(error) : aborted ? 'aborted' : `status ${status}, ${bytes} bytes`;
  return `request ${url}${attempt > 1 ? ` (attempt ${attempt})` : ''}: ${end}`;
}

function failed({ code, message }: EventError): string {
  return `failed: ${code} ${message}`;
}
