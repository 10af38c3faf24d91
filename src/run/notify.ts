import { setTimeout as wait } from 'node:timers/promises';
import { amountOf, failureOf, reasonOf, SourceError, version, type Warning } from '../core/index.js';
import { postJson } from '../http/index.js';
import type { Hooks } from '../plan/index.js';
import { ClosedPipeError } from '../sinks/index.js';
import { failedRunOf, type RunReport } from './report.js';
import type { Run } from './start.js';

/** How a run ended: with the report of what it published, or with the rejection of `runPipeline`. */
export type RunEnd = { readonly report: RunReport } | { readonly failure: unknown };

/** Timeout of an attempt, that once the run was stopped, and the pause between attempts. */
const [timeoutMs, stoppedMs, pauseMs] = [5_000, 2_000, 500];

/** At most two attempts of five seconds, or one of two seconds once the run was stopped. A webhook that cannot be reached is a warning. */
export async function notify({ pipeline, options, runId, startedAt, warnings, warn }: Run, end: RunEnd): Promise<void> {
  const { name, hooks, plan } = pipeline;
  const hasFailed = 'failure' in end;
  // If a run only prints, a reader that closes the pipe is not a failure.
  if (hasFailed && end.failure instanceof ClosedPipeError && plan.sinks.every(({ definition }) => definition.prints)) return;
  const { read = 0, sinks = [] } = (hasFailed ? failedRunOf(end.failure) : end.report) ?? {};
  const written = hasFailed ? {} : Object.fromEntries(sinks.map(({ at, books }) => [at, books.written]));
  const warned = await post(name, hooks, end, options.signal, {
    run: runId,
    ...{ started_at: startedAt, duration_seconds: Math.max(0, Date.now() - Date.parse(startedAt)) / 1000 },
    ...{ rows: { read, written }, warnings: [...new Set(warnings.map(({ code }) => code))] },
  });
  warned.forEach(warn);
}

/** Sends counts, names and codes; no rows, messages, paths or credentials. */
async function post(pipeline: string, hooks: Hooks, end: RunEnd, stop: AbortSignal | undefined, more: object): Promise<readonly Warning[]> {
  const failure = 'failure' in end ? failureOf(end.failure) : undefined;
  const name = failure ? 'on_failure' : 'on_success';
  const hook = hooks[name];
  if (hook === undefined) return [];
  const said = 'report' in end ? `published, ${amountOf(end.report.read, 'row')} read` : `failed, ${failure?.code} (exit ${failure?.exit})`;
  const status = failure ? { status: 'failed', exit: failure.exit, error: failure.code } : { status: 'published', exit: 0 };
  const json = { text: `${pipeline}: ${said}`, pipeline, ...status, ...more, version };
  const label = `${name}: the webhook at ${new URL(hook.url).host}`;
  const attempt = () => postJson({ ...hook, json, label, timeoutMs: stop?.aborted ? stoppedMs : timeoutMs });
  try {
    await attempt().catch(async (failure: unknown) => {
      if (!(failure instanceof SourceError) || failure.kind === 'permanent' || stop?.aborted) throw failure;
      await wait(pauseMs);
      await attempt();
    });
    return [];
  } catch (failure) {
    return [{ code: 'W_RUN_HOOK', message: failure instanceof SourceError ? failure.message : `${name}: ${reasonOf(failure)}` }];
  }
}
