import { availableParallelism } from 'node:os';
import { defer, switchMap, tap, type Observable } from 'rxjs';
import { createClient, type ServiceClient } from '../client/index.js';
import { GateError } from '../errors.js';
import { finishIntents, lockOutputs, type Lock } from '../files/index.js';
import { createStallWatch, deliver, type Page, type Tally } from '../flow/index.js';
import { removeLanding } from '../landing/index.js';
import { openAccounts } from './accounts.js';
import { completed } from './completed.js';
import { openExpectations } from './expectations.js';
import { judge } from './judge.js';
import { noLandings } from './landings.js';
import { openOutputs, type Outputs } from './outputs.js';
import type { Pipeline } from './pipeline.js';
import type { PlannedStep } from './plan.js';
import { newConsistency, readPages, windowOf } from './reading.js';
import { openRejects, type Rejects } from './rejects.js';
import type { RunReport } from './report.js';
import type { RunOptions } from './run-options.js';
import { intentsIn, newRunId, startRun, type Run } from './start.js';

/**
 * Runs a pipeline: reads the whole collection through its steps into all sinks, checks books and gates, and publishes.
 * Until then nothing stands under a final name; after a failure everything is as it was, and the pages that were read wait for
 * the next run.
 *
 * @returns What was done. It resolves only after publishing.
 * @throws {LeadstreamError} When nothing was published: `SourceError`, `StepError`, `SinkError`, `GateError`, `E_RUN_LOCKED`, or
 * `E_RUN_ABORTED` after `signal`.
 */
export async function runPipeline(pipeline: Pipeline, options: RunOptions = {}): Promise<RunReport> {
  const run = startRun(pipeline, options);
  const lock = await lockOutputs(run.paths, run);
  try {
    await run.finishEarlier();
    const rejects = await openRejects(pipeline.rejects, pipeline.plan.collection, run.runId);
    try {
      const report = await runLocked(pipeline, options, run, lock, rejects);
      await rejects.close(true).catch(run.nuisance);
      return report;
    } catch (failure) {
      // What went wrong first is what has to be told.
      await rejects.close(false).catch(run.nuisance);
      throw failure;
    }
  } finally {
    await lock.release();
  }
}

/**
 * Completes the publications that killed runs had decided.
 *
 * @param stateDir Folder that the runs were given, usually `.leadstream`.
 * @returns Names of the pipelines whose publication was completed.
 */
export async function finishRuns(stateDir: string): Promise<readonly string[]> {
  const finished = await finishIntents(intentsIn(stateDir), { runId: newRunId(new Date().toISOString()), removeSpent: removeLanding });
  return finished.map(({ pipeline }) => pipeline);
}

async function runLocked(pipeline: Pipeline, options: RunOptions, run: Run, lock: Lock, rejects: Rejects): Promise<RunReport> {
  const { plan, connection, consistency: wanted } = pipeline;
  const client = createClient({
    threads: availableParallelism() > 1 ? 1 : 0,
    ...connection,
    secrets: pipeline.secrets,
    onRetry: options.onRetry,
  });
  const bare = client.reader(plan.collection.name, pipeline.reveal);
  const accounts = openAccounts(pipeline, bare);
  const expectations = pipeline.expect && openExpectations(pipeline.expect, plan.columns());
  const { source } = accounts;
  // A list that is not paged is one answer, which nothing checks.
  const checked = wanted.mode !== 'off' && plan.collection.paged;
  let outputs: Outputs | undefined;
  let landings = noLandings;
  let decided = false;

  try {
    outputs = await openOutputs(plan.sinks, {
      baseDir: pipeline.baseDir,
      onError: pipeline.onError,
      stdout: options.stdout ?? process.stdout,
      pipeline: pipeline.name,
      runId: run.runId,
      key: plan.collection.key,
      runDate: () => since().slice(0, 10),
      columns: accounts.fixColumns,
      reject: rejects.add,
    });
    landings = await run.landings();
    const reader = await landings.landed(bare);
    const pages$ = readPages(reader, { ...reading(), onPage: source.observe }, accounts.consistency);
    await completed(chained(pages$, outputs), options.signal, pipeline.deadlineMs);
    const finished = await outputs.finish();
    const report = accounts.report(run, finished, { resumed: landings.resumed, since: since() });
    judge({ pipeline, report, accounts, outputs: finished, rejects, expectations }, run.warn);
    await lock.check();
    const moves = await outputs.publication(accounts.facts(report));
    await run.decide(moves, landings);
    decided = true;
    await run.carryOut(moves, landings);
    await outputs.settle().catch(run.nuisance);
    return { ...report, finishedAt: new Date().toISOString() };
  } catch (failure) {
    if (!(failure instanceof GateError)) throw failure;
    // What was refused was read to its end: the next run must see what the service has by then.
    await landings.remove().catch(run.nuisance);
    throw options.keepFailed ? await kept(failure, outputs) : failure;
  } finally {
    // What was decided is left for whoever completes it.
    if (!decided) await outputs?.abort();
    await landings.close();
    client.close();
  }

  /** When the first of the runs began that share the pages. */
  function since(): string {
    const { startedAt = run.startedAt } = landings;
    return startedAt < run.startedAt ? startedAt : run.startedAt;
  }

  function reading() {
    return { ...connection, maxPasses: wanted.maxPasses, onWarning: run.warn };
  }

  function chained(pages$: Observable<Page>, to: Outputs): Observable<unknown> {
    const watch = createStallWatch(windowOf(connection));
    const write = async (page: Page) => {
      expectations?.observe(page);
      await to.write(page);
      await rejects.flush();
    };
    const start$ = pages$.pipe(watch.stage('source'));
    return accounts.steps
      .reduce((chain$, { step, tally }) => chain$.pipe(openStep(step, tally, client), watch.stage(step.at)), start$)
      .pipe(
        deliver(write),
        watch.taken(),
        tap(() => options.onProgress?.({ pages: source.pages, rows: source.rows })),
        watch.guard(),
      );
  }

  function openStep(step: PlannedStep, tally: Tally, from: ServiceClient) {
    return step.open({
      at: step.at,
      tally,
      reject: (row, fault) => rejects.add(step.at, step.input, row, fault),
      collection: plan.collection,
      input: step.input,
      onError: pipeline.onError,
      distinct: checked && plan.steps.slice(0, plan.steps.indexOf(step)).every(({ name }) => name === 'filter'),
      hmacKey: pipeline.hmacKey,
      read: (collection, reveal) => {
        const consistency = newConsistency(wanted.mode);
        const side = from.reader(collection, reveal);
        accounts.sides.push({ at: step.at, collection, consistency, findings: side.findings });
        return defer(() => landings.landed(side)).pipe(switchMap((reader) => readPages(reader, reading(), consistency)));
      },
    });
  }

  /** Puts aside what a gate refused. What went wrong first is what has to be told, wherever the outputs end. */
  async function kept(refused: GateError, from: Outputs | undefined): Promise<GateError> {
    const paths = (await from?.setAside(run.nuisance)) ?? [];
    if (paths.length === 0) return refused;
    run.warn({ code: 'W_RUN_KEPT', message: `${pipeline.name}: not published, but kept for inspection: ${paths.join(', ')}` });
    return refused.keeping(paths);
  }
}
