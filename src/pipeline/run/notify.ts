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

/** Timeout of one attempt, and pause between two attempts, in milliseconds. */
const timeoutMs = 5_000;
const pauseMs = 500;

/** How long a stopped run waits for its webhook, in milliseconds. */
const stoppedMs = 2_000;

/** The message to a webhook: counts, names and codes; no rows, messages, paths or credentials. */
export interface RunMessage {
  /** One line for people, as shown in chats. */
  readonly text: string;
  readonly pipeline: string;
  /** Missing if the file could not be loaded. */
  readonly run?: string;
  readonly status: 'published' | 'failed';
  readonly exit: number;
  /** Error code of the failure. */
  readonly error?: string;
  /** ISO 8601 in UTC. */
  readonly started_at: string;
  readonly duration_seconds: number;
  /** Rows that were read from the collection, and those written to each output; the latter is empty for a run that published nothing. */
  readonly rows: { readonly read: number; readonly written: Readonly<Record<string, number>> };
  /** Codes of warnings. */
  readonly warnings: readonly string[];
  readonly version: string;
}

/**
 * Notifies the webhook of a pipeline how a run ended: at most two attempts of five seconds, or a single one of at most two more seconds once the run was
 * stopped. It never fails: if the webhook cannot be reached, that is a warning.
 *
 * @param end The report of a run that published, or what ended it.
 * @param stop Aborted when the run must end.
 */
export async function notify(pipeline: Pipeline, run: Run, end: RunEnd, stop: AbortSignal | undefined): Promise<void> {
  const { hooks, plan } = pipeline;
  const [name, hook] = 'report' in end ? (['on_success', hooks.success] as const) : (['on_failure', hooks.failure] as const);
  // If a run only prints, a reader that closes the pipe is not a failure.
  const closed = 'failure' in end && end.failure instanceof ClosedPipeError && plan.sinks.every(({ output }) => output === undefined);
  if (hook === undefined || closed) return;
  await delivered(hook, messageOf(pipeline, run, end), [name, stop], run.warn);
}

/** Which webhooks of a pipeline file to notify, and how long to wait. */
export interface RefusedOptions {
  /** Names of pipelines that were to run. Default: all in the file. */
  readonly only?: readonly string[];
  /** Aborted when the program must end: the wait is then limited to two more seconds. */
  readonly signal?: AbortSignal;
}

const refusing = object({ options: object({ only: texts(), signal: abortSignal }) });

/**
 * Notifies the webhooks under `on_failure` of a pipeline file that it could not be loaded, if file and environment determine them, as `leadstream run` does.
 * Otherwise no one would be notified, since no run starts. It never fails because of a webhook.
 *
 * @param failure The rejection of `loadPipelines` and similar functions; anything else causes no notification.
 * @returns Warnings about the webhooks that could not be notified.
 * @throws {LeadstreamError} `E_USAGE` for invalid options.
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
  for (const { name = 'an unnamed pipeline', hook } of refusedIn(failure)) {
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
      // A run that is stopped in the meantime waits no longer.
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
