import { setTimeout as wait } from 'node:timers/promises';
import { amountOf, failureOf, reasonOf, SourceError, version, type Warning } from '../../core/index.js';
import { postJson } from '../../http/index.js';
import { abortSignal, checkUsage, object, texts } from '../../options/index.js';
import { ClosedPipeError } from '../../sinks/index.js';
import type { Hook } from '../spec/hooks.js';
import type { Pipeline } from '../spec/pipeline.js';
import { refusedIn } from '../spec/refused.js';
import { failedRunOf } from './failed-run.js';
import type { RunEnd } from './run-options.js';
import type { Run } from './start.js';

/** Time of one attempt, and between two of them, in milliseconds. */
const timeoutMs = 5_000;
const pauseMs = 500;

/** How long a run that was told to end waits for its webhook, in milliseconds. */
const stoppedMs = 2_000;

/** What a webhook is told: counts, names and codes; no row, no message, no path and no credential. */
export interface RunMessage {
  /** One line for people, as chats show it. */
  readonly text: string;
  readonly pipeline: string;
  /** None where the file could not be loaded. */
  readonly run?: string;
  readonly status: 'published' | 'failed';
  readonly exit: number;
  /** Code of the failure. */
  readonly error?: string;
  /** ISO 8601 in UTC. */
  readonly started_at: string;
  readonly duration_seconds: number;
  /** Rows of the collection that were read, and those that each output was given; none of a run that published nothing. */
  readonly rows: { readonly read: number; readonly written: Readonly<Record<string, number>> };
  /** Codes of warnings. */
  readonly warnings: readonly string[];
  readonly version: string;
}

/**
 * Tells the webhook of a pipeline how a run ended: at most two attempts of five seconds, and one, for two seconds more, once the run was told
 * to end. It never fails: that nobody could be told is a warning.
 *
 * @param end The report of a run that published, or what ended it.
 * @param stop Aborted when the run has to end.
 */
export async function notify(pipeline: Pipeline, run: Run, end: RunEnd, stop: AbortSignal | undefined): Promise<void> {
  const { hooks, plan } = pipeline;
  const [name, hook] = 'report' in end ? (['on_success', hooks.success] as const) : (['on_failure', hooks.failure] as const);
  // Of a run that only prints, a reader who has had enough is no failure.
  const closed = 'failure' in end && end.failure instanceof ClosedPipeError && plan.sinks.every(({ output }) => output === undefined);
  if (hook === undefined || closed) return;
  await delivered(hook, messageOf(pipeline, run, end), [name, stop], run.warn);
}

/** Whom to tell of a pipeline file, and how long. */
export interface RefusedOptions {
  /** Names of pipelines that were to run. Default: all of the file. */
  readonly only?: readonly string[];
  /** Aborted when the program has to end: nobody is waited for any longer than two seconds then. */
  readonly signal?: AbortSignal;
}

const refusing = object({ options: object({ only: texts(), signal: abortSignal }) });

/**
 * Tells the webhooks under `on_failure` of a pipeline file that it could not be loaded, where file and environment say who that is, as `leadstream run`
 * does: nobody else hears of it, since no run begins. It never fails for a webhook.
 *
 * @param failure What `loadPipelines` and the like were rejected with; nobody is told of anything else.
 * @returns Those that could not be told, as warnings.
 * @throws {LeadstreamError} `E_USAGE` for options that cannot be right.
 *
 * @example
 * const pipelines = await loadPipelines('leads.yaml').catch(async (failure: unknown) => {
 *   await notifyRefused(failure);
 *   throw failure;
 * });
 */
export async function notifyRefused(failure: unknown, options: RefusedOptions = {}): Promise<readonly Warning[]> {
  checkUsage('notifyRefused', refusing, { options });
  const { only = [], signal } = options;
  const { code, exit } = failureOf(failure);
  const warnings: Warning[] = [];
  for (const { name = 'a pipeline without a name', hook } of refusedIn(failure)) {
    if (hook === undefined || (only.length > 0 && !only.includes(name))) continue;
    const message: RunMessage = {
      ...{ text: `${name}: failed, ${code} (exit ${exit})`, pipeline: name, status: 'failed', exit, error: code },
      ...{ started_at: new Date().toISOString(), duration_seconds: 0, rows: { read: 0, written: {} }, warnings: [], version },
    };
    await delivered(hook, message, ['on_failure', signal], (warning) => void warnings.push(warning));
  }
  return warnings;
}

async function delivered(
  hook: Hook,
  message: RunMessage,
  [name, stop]: readonly [name: string, stop: AbortSignal | undefined],
  warn: (warning: Warning) => void,
): Promise<void> {
  try {
    await send(hook, message, `${name}: the webhook at ${new URL(hook.url).host}`, stop);
  } catch (failure) {
    warn({ code: 'W_RUN_HOOK', message: failure instanceof SourceError ? failure.message : `${name}: ${reasonOf(failure)}` });
  }
}

async function send(hook: Hook, json: RunMessage, label: string, stop: AbortSignal | undefined): Promise<void> {
  const patience = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const hurry = (): void => void (timer = setTimeout(() => patience.abort(), stoppedMs));
  if (stop?.aborted) hurry();
  else stop?.addEventListener('abort', hurry, { once: true });
  const message = { ...hook, json, label, timeoutMs, signal: patience.signal };
  try {
    await postJson(message).catch(async (failure: unknown) => {
      if (!(failure instanceof SourceError) || failure.kind === 'permanent' || stop?.aborted) throw failure;
      // Who is told to end meanwhile waits no longer.
      await wait(pauseMs, undefined, stop && { signal: stop }).catch(() => Promise.reject(failure));
      await postJson(message);
    });
  } finally {
    stop?.removeEventListener('abort', hurry);
    clearTimeout(timer);
  }
}

function messageOf({ name }: Pipeline, run: Run, end: RunEnd): RunMessage {
  const report = 'report' in end ? end.report : failedRunOf(end.failure);
  const failure = 'failure' in end ? failureOf(end.failure) : undefined;
  const seconds = Math.max(0, Date.now() - Date.parse(run.startedAt)) / 1000;
  const sinks = 'report' in end ? end.report.sinks.map(({ at, books }) => [at, books.written] as const) : [];
  const read = report?.read ?? 0;
  const ending = failure ? `failed, ${failure.code} (exit ${failure.exit})` : `published, ${amountOf(read, 'row')} read`;
  return {
    text: `${name}: ${ending}`,
    pipeline: name,
    run: run.runId,
    status: failure ? 'failed' : 'published',
    exit: failure?.exit ?? 0,
    ...(failure && { error: failure.code }),
    started_at: run.startedAt,
    duration_seconds: seconds,
    rows: { read, written: Object.fromEntries(sinks) },
    warnings: [...new Set(run.warnings.map(({ code }) => code))],
    version: version,
  };
}
