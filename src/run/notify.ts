import { setTimeout as wait } from 'node:timers/promises';
import { amountOf, failureOf, reasonOf, SourceError, version } from '../core/index.js';
import { exchange } from '../http/index.js';
import { ClosedPipeError } from '../sinks/index.js';
import { failedRunOf, type RunReport } from './report.js';
import type { Run } from './start.js';

/** How a run ended: the report of what it published, or the rejection of `runPipeline`. */
export type RunEnd = { readonly report: RunReport } | { readonly failure: unknown };

/** Time of an attempt, of one after the run was stopped, and the pause between attempts. */
const [attemptMs, stoppedMs, pauseMs] = [5_000, 2_000, 500];

/** Sends counts, names and codes, but no rows, messages, paths or credentials. Only a warning if the webhook cannot be reached. */
export async function notify({ pipeline, options, runId, startedAt, warnings, warn }: Run, end: RunEnd): Promise<void> {
  const { name, hooks, plan } = pipeline;
  const failure = 'failure' in end ? failureOf(end.failure) : undefined;
  const event = failure ? 'on_failure' : 'on_success';
  const hook = hooks[event];
  if (hook === undefined) return;
  // If a run only prints, a reader may close the pipe.
  if ('failure' in end && end.failure instanceof ClosedPipeError && plan.sinks.every(({ definition }) => definition.prints)) return;
  const { read = 0, sinks = [] } = ('failure' in end ? failedRunOf(end.failure) : end.report) ?? {};
  const written = failure ? {} : Object.fromEntries(sinks.map(({ at, books }) => [at, books.written]));
  const said = failure ? `failed, ${failure.code} (exit ${failure.exit})` : `published, ${amountOf(read, 'row')} read`;
  const json = {
    ...{ text: `${name}: ${said}`, pipeline: name },
    ...(failure ? { status: 'failed', exit: failure.exit, error: failure.code } : { status: 'published', exit: 0 }),
    ...{ run: runId, started_at: startedAt, duration_seconds: Math.max(0, Date.now() - Date.parse(startedAt)) / 1000 },
    ...{ rows: { read, written }, warnings: [...new Set(warnings.map(({ code }) => code))], version },
  };
  const label = `${event}: the webhook at ${new URL(hook.url).host}`;
  const isStopped = () => options.signal?.aborted === true;
  const post = { type: 'application/json', body: JSON.stringify(json) };
  const attempt = async () => {
    const limit = isStopped() ? stoppedMs : attemptMs;
    const { status } = await exchange({ url: hook.url, proxy: hook.proxy ?? false, label, post, attempts: 1, attemptMs: limit });
    if (status === 404) throw new SourceError('E_SOURCE_REFUSED', 'permanent', `${label}: HTTP 404`);
  };
  try {
    await attempt().catch(async (thrown: unknown) => {
      if (!(thrown instanceof SourceError) || thrown.kind === 'permanent' || isStopped()) throw thrown;
      await wait(pauseMs);
      await attempt();
    });
  } catch (thrown) {
    warn({ code: 'W_RUN_HOOK', message: thrown instanceof SourceError ? thrown.message : `${event}: ${reasonOf(thrown)}` });
  }
}
