import { setTimeout as wait } from 'node:timers/promises';
import { amountOf, failureOf, reasonOf, SourceError, version, type Warning } from '../core/index.js';
import { postJson } from '../http/index.js';
import { refusedIn, type Hook, type HookName, type Pipeline } from '../plan/index.js';
import { ClosedPipeError } from '../sinks/index.js';
import { failedRunOf } from './report.js';
import type { Run, RunEnd } from './start.js';

/** Timeout of one attempt, the same once the run was stopped, and the pause between two attempts, in milliseconds. */
const timeoutMs = 5_000;
const stoppedMs = 2_000;
const pauseMs = 500;

/**
 * Notifies the webhook of a pipeline how a run ended: at most two attempts of five seconds, or a single one of two seconds once the run was stopped. It never
 * fails: if the webhook cannot be reached, that is a warning.
 *
 * @param end The report of a run that published, or what ended it.
 * @param stop Aborted when the run must end.
 */
export async function notify({ name, hooks, plan }: Pipeline, run: Run, end: RunEnd, stop: AbortSignal | undefined): Promise<void> {
  const hasFailed = 'failure' in end;
  const hook = hasFailed ? hooks.failure : hooks.success;
  // If a run only prints, a reader that closes the pipe is not a failure.
  const closed = hasFailed && end.failure instanceof ClosedPipeError && plan.sinks.every(({ output }) => output === undefined);
  if (hook === undefined || closed) return;
  const { read = 0, sinks = [] } = (hasFailed ? failedRunOf(end.failure) : end.report) ?? {};
  const written = hasFailed ? {} : Object.fromEntries(sinks.map(({ at, books }) => [at, books.written]));
  const message = {
    ...messageOf(name, run.startedAt, end, { read, written }),
    run: run.runId,
    warnings: [...new Set(run.warnings.map(({ code }) => code))],
  };
  const warning = await deliver(hook, message, hasFailed ? 'on_failure' : 'on_success', stop);
  if (warning) run.warn(warning);
}

/** Which webhooks of a pipeline file to notify, and how long to wait. */
export interface RefusedOptions {
  /** Names of pipelines that were to run. Default: all in the file. */
  readonly only?: readonly string[];
  /** Aborted when the program must end: the wait is then limited to two more seconds. */
  readonly signal?: AbortSignal;
}

/**
 * Notifies the webhooks under `on_failure` of a pipeline file that it could not be loaded, if file and environment determine them, as `leadstream run` does.
 * Otherwise no one would be notified, since no run starts. It never fails because of a webhook.
 *
 * @param failure The rejection of `loadPipelines` and similar functions; anything else causes no notification.
 * @returns Warnings about the webhooks that could not be notified.
 *
 * @example
 * const pipelines = await loadPipelines('leads.yaml').catch(async (failure: unknown) => {
 *   await notifyRefused(failure);
 *   throw failure;
 * });
 */
export async function notifyRefused(failure: unknown, { only = [], signal }: RefusedOptions = {}): Promise<readonly Warning[]> {
  const warnings: Warning[] = [];
  for (const { name = 'an unnamed pipeline', hook } of refusedIn(failure)) {
    if (hook === undefined || (only.length > 0 && !only.includes(name))) continue;
    const message = messageOf(name, new Date().toISOString(), { failure }, { read: 0, written: {} });
    const warning = await deliver(hook, { ...message, duration_seconds: 0, warnings: [] }, 'on_failure', signal);
    if (warning) warnings.push(warning);
  }
  return warnings;
}

/** The message to a webhook, as in the reference of pipeline files: counts, names and codes; no rows, messages, paths or credentials. */
function messageOf(pipeline: string, startedAt: string, end: RunEnd, rows: { readonly read: number; readonly written: object }) {
  const failure = 'failure' in end ? failureOf(end.failure) : undefined;
  return {
    text: `${pipeline}: ${failure ? `failed, ${failure.code} (exit ${failure.exit})` : `published, ${amountOf(rows.read, 'row')} read`}`,
    ...{ pipeline, status: failure ? 'failed' : 'published', exit: failure?.exit ?? 0 },
    ...(failure && { error: failure.code }),
    ...{ started_at: startedAt, duration_seconds: Math.max(0, Date.now() - Date.parse(startedAt)) / 1000, rows, version },
  };
}

/** @returns A warning if the webhook could not be notified. */
async function deliver(hook: Hook, json: object, name: HookName, stop: AbortSignal | undefined): Promise<Warning | undefined> {
  const label = `${name}: the webhook at ${new URL(hook.url).host}`;
  const attempt = () => postJson({ ...hook, json, label, timeoutMs: stop?.aborted ? stoppedMs : timeoutMs });
  try {
    await attempt().catch(async (failure: unknown) => {
      if (!(failure instanceof SourceError) || failure.kind === 'permanent' || stop?.aborted) throw failure;
      await wait(pauseMs);
      await attempt();
    });
    return undefined;
  } catch (failure) {
    return { code: 'W_RUN_HOOK', message: failure instanceof SourceError ? failure.message : `${name}: ${reasonOf(failure)}` };
  }
}
