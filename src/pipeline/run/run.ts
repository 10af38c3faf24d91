import { defer, map, switchMap, tap, type Observable } from 'rxjs';
import {
  createClient,
  defaultFetchingThreads,
  type ServiceClient,
  noSpools,
  newConsistency,
  readPages,
  windowOf,
} from '../../source/index.js';
import { GateError, limitReached } from '../../core/index.js';
import { countOf, createStallDetector, deliver, type Page, type Tally } from '../../flow/index.js';
import { EarlyStop } from './early-stop.js';
import { checkRun } from './check-run.js';
import { openLedger, type Ledger } from './ledger.js';
import { completed } from './completed.js';
import { noCounts, type Counts } from './counts.js';
import { openExpectations } from '../gates/expectations.js';
import { evaluateGates } from '../gates/evaluate.js';
import { OpenedOutputs, type Output, type PreparedOutputs } from './outputs.js';
import type { Pipeline } from '../spec/pipeline.js';
import { refuseReplacing } from '../gates/partial.js';
import type { PlannedStep } from '../spec/plan.js';
import { RunLog } from '../../lake/index.js';
import { remembered } from './fields.js';
import { BeginAgain, LateRows, NewFields, type Attempt } from './attempt.js';
import { Rejects } from './rejects.js';
import type { RunReport } from './report.js';
import { restsOnPages } from './rests-on-pages.js';
import type { RunOptions } from './run-options.js';
import { Run, type Claim } from './start.js';

/**
 * Runs a pipeline: reads the whole collection through its steps into all sinks, checks books and gates, and publishes.
 * Until then nothing stands under a final name; after a failure everything is as it was, and the pages that were read wait for
 * the next run.
 *
 * @returns What was done. It resolves only after publishing.
 * @throws {LeadstreamError} `E_USAGE` for arguments that cannot be right. When nothing was published: `SourceError`, `StepError`, `SinkError`, `GateError`, `E_RUN_LOCKED`, or
 * `E_RUN_ABORTED` after `signal`.
 */
export async function runPipeline(pipeline: Pipeline, options: RunOptions = {}): Promise<RunReport> {
  checkRun(pipeline, options);
  const run = new Run(pipeline, options);
  return run.events.during(
    'run',
    () => ({ pipeline: pipeline.name }),
    () => runStarted(pipeline, options, run),
    ({ pages, read }) => ({ pages, read }),
  );
}

async function runStarted(pipeline: Pipeline, options: RunOptions, run: Run): Promise<RunReport> {
  pipeline.warnings.forEach(run.warn);
  for (;;) {
    const claim = await run.claim();
    try {
      return await runLocked(pipeline, options, run, claim);
    } catch (failure) {
      // The pages that would have given the day are gone by now, so this happens once unless others spool and fail meanwhile.
      if (!(failure instanceof StaleDay)) throw failure;
    } finally {
      await claim.lock.release();
    }
  }
}

/** The outputs have the day of an interrupted run, whose pages are not used: they need other paths. */
class StaleDay extends Error {}

async function runLocked(pipeline: Pipeline, options: RunOptions, run: Run, claim: Claim): Promise<RunReport> {
  let attempt: Attempt | undefined;
  for (;;) {
    try {
      return await runClaimed(pipeline, options, run, claim, attempt);
    } catch (failure) {
      if (!(failure instanceof BeginAgain)) throw limitReached(failure) ?? failure;
      attempt = failure.next(attempt, pipeline, run.warn);
    }
  }
}

async function runClaimed(
  pipeline: Pipeline,
  options: RunOptions,
  run: Run,
  claim: Claim,
  attempt: Attempt | undefined,
): Promise<RunReport> {
  const { plan, connection, consistency: wanted } = pipeline;
  const { events } = run;
  const client = createClient({ threads: defaultFetchingThreads(), ...connection, secrets: pipeline.secrets }, events);
  const bare = client.reader(plan.collection, pipeline.reveal);
  const { found = [] } = attempt ?? {};
  const ledger = openLedger(pipeline, bare, found);
  const expectations = pipeline.expect && openExpectations(pipeline.expect, plan.columns());
  const { source } = ledger;
  const stop = new EarlyStop(plan);
  // A list that is not paged is one answer, which nothing checks.
  const checked = wanted.mode !== 'off' && plan.collection.paged;
  /** Whether the other sides of joins have more rows by now, by name. */
  const sides: Observable<string | undefined>[] = [];
  let outputs: OpenedOutputs | undefined;
  let prepared: PreparedOutputs | undefined;
  let spools = noSpools;
  let counts = noCounts;
  let logged = false;

  const rejects = await Rejects.open({ ...pipeline.rejects, path: claim.rejects }, plan.collection, run.runId);
  try {
    outputs = await OpenedOutputs.open(plan.sinks, {
      baseDir: pipeline.baseDir,
      onError: pipeline.onError,
      stdout: options.stdout ?? process.stdout,
      pipeline: pipeline.name,
      runId: run.runId,
      key: plan.collection.key,
      runDate: () => claim.date,
      runLog: new RunLog(run.state.path, pipeline.manifestKey),
      scratch: run.state.scratch,
      signal: options.signal,
      warn: run.warn,
      columns: ledger.fixColumns,
      reject: rejects.add,
      events,
    });
    // A field keeps its column, whatever other comes before it under a name like its own.
    bare.reserve([...outputs.earlier.flatMap((published) => published?.undeclared ?? []), ...remembered(found)]);
    if (!options.allowPartial) await refuseReplacing(plan, claim.outputs, outputs.earlier);
    counts = await run.counts();
    spools = await run.spools();
    const reader = await spools.spooled(bare);
    if (!(await run.begin(claim, spools))) throw new StaleDay();
    const pages$ = readPages(reader, { ...reading(plan.collection.name), lookAgain: true, onPage: source.observe }, ledger.consistency);
    await completed(chained(pages$, outputs), options.signal, pipeline.deadlineMs);
    for (const side of sides) await completed(side.pipe(tap(refuseLateRows)), options.signal, pipeline.deadlineMs);
    refuseNewFields();
    const begun = await outputs.begin();
    const done = await begun.prepare();
    prepared = done;
    const report = ledger.report(run, done.outputs, {
      resumed: resumed(),
      since: since(),
      partial: stop.stopped,
      rejects: claim.rejects,
    });
    stop.warnings().forEach(run.warn);
    evaluateGates(
      { pipeline, report, ledger, outputs: done.outputs, rejects, expectations, counts, allowShrink: options.allowShrink ?? false },
      run.warn,
    );
    await claim.lock.check();
    // The rejects come first: who sees the outputs finds what they lack.
    const actions = [...(await rejects.actions()), ...(await done.actions(ledger.facts(report)))];
    const commit = await run.prepareCommit(claim, actions, spools);
    logged = true;
    await events.during(
      'commit',
      () => ({ outputs: claim.outputs, actions: actions.length }),
      () => run.commit(commit, spools, () => done.cleanup()),
    );
    if (!report.partial) await keepCounts(counts, run.runId, ledger, done.outputs).catch(run.forgotten);
    return { ...report, finishedAt: new Date().toISOString() };
  } catch (failure) {
    if (!restsOnPages(failure)) throw failure;
    // The next run must see what the service has by then: what is wrong may be what spooled.
    await run.forgetPages(spools).catch(run.nuisance);
    if (!(failure instanceof GateError)) throw failure;
    throw options.keepFailed ? await kept(failure, prepared) : failure;
  } finally {
    // What is logged is left for whoever recovers it.
    if (!logged) {
      await outputs?.abort();
      // What went wrong first is what has to be told.
      await rejects.close().catch(run.nuisance);
    }
    await spools.close();
    client.close();
  }

  /** Pages of interrupted runs; those of an earlier attempt are this run's own. */
  function resumed(): number {
    return attempt?.resumed ?? spools.resumed;
  }

  /** Once: all pages are read by now, so what comes later is of rows that came while the run began again. */
  function refuseNewFields(): void {
    // How far a read comes that is stopped depends on who is faster, and columns must not.
    if (pipeline.onNewField !== 'restart' || attempt?.found !== undefined || stop.stopped) return;
    const missed = ledger.missed();
    if (missed.length > 0) throw new NewFields(missed, resumed());
  }

  function refuseLateRows(message: string | undefined): void {
    if (message !== undefined) throw new LateRows(message, resumed());
  }

  /** When the first of the runs began that share the pages. */
  function since(): string {
    const { startedAt = run.startedAt } = spools;
    return startedAt < run.startedAt ? startedAt : run.startedAt;
  }

  function reading(collection: string) {
    return { ...connection, maxPasses: wanted.maxPasses, expectedRows: counts.ofList(collection)?.rows, events };
  }

  function chained(pages$: Observable<Page>, to: OpenedOutputs): Observable<unknown> {
    const watch = createStallDetector(windowOf(connection));
    const write = async (page: Page) => {
      expectations?.observe(page);
      const begun = await to.begin();
      await begun.write(page);
      await rejects.flush();
    };
    const start$ = pages$.pipe(stop.source(), watch.stage('source'));
    return ledger.steps
      .reduce((chain$, { step, tally }) => {
        let atWork = false;
        const opened = openStep(step, tally, client, (is) => (atWork = is));
        return chain$.pipe(
          opened,
          tap((page) => events.emit('step', () => ({ at: step.at, number: page.number, rows: countOf(page) }))),
          watch.stage(step.at, () => atWork),
        );
      }, start$)
      .pipe(deliver(write), watch.taken(), watch.guard());
  }

  function openStep(step: PlannedStep, tally: Tally, from: ServiceClient, working: (is: boolean) => void) {
    return step.open({
      at: step.at,
      tally,
      working,
      stop: stop.of(step),
      reject: (row, fault) => rejects.add(step.at, step.input, row, fault),
      collection: plan.collection,
      collections: plan.collections,
      input: step.input,
      onError: pipeline.onError,
      distinct: checked && plan.steps.slice(0, plan.steps.indexOf(step)).every(({ keepsRows }) => keepsRows),
      firstStart: new Date(claim.firstStart),
      hmacKey: pipeline.hmacKey,
      scratch: run.state.scratch,
      lookup: (collection, reveal) => {
        const reader = from.reader(collection, reveal);
        const counts = { requests: 0, hits: 0, misses: 0 };
        ledger.lookups.push({ at: step.at, collection: collection.name, counts, findings: reader.findings });
        return { find: reader.find, concurrency: from.concurrency, counts };
      },
      read: (collection, reveal) => {
        const consistency = newConsistency(wanted.mode);
        const onEnd = (hasMore: () => Observable<boolean>) =>
          void sides.push(
            hasMore().pipe(map((more) => (more ? `${step.at}: rows came to ${collection.name} after they were read` : undefined))),
          );
        const side = from.reader(collection, reveal);
        const count = { at: step.at, collection: collection.name, consistency, findings: side.findings, rows: 0 };
        ledger.sides.push(count);
        const onPage = (page: Page) => {
          count.rows += countOf(page);
        };
        return defer(() => spools.spooled(side)).pipe(
          switchMap((reader) => readPages(reader, { ...reading(collection.name), at: step.at, onPage, onEnd }, consistency)),
        );
      },
    });
  }

  /** Puts aside what a gate refused. What went wrong first is what has to be told, wherever the outputs end. */
  async function kept(refused: GateError, from: PreparedOutputs | undefined): Promise<GateError> {
    const paths = (await from?.quarantine(run.nuisance)) ?? [];
    if (paths.length === 0) return refused;
    run.warn({ code: 'W_RUN_KEPT', message: `${pipeline.name}: not published, but kept for inspection: ${paths.join(', ')}` });
    return refused.keeping(paths);
  }
}

/** Keeps what a published run counted, for the next one to be compared with. */
function keepCounts(counts: Counts, runId: string, ledger: Ledger, finished: readonly Output[]): Promise<void> {
  const lists = new Map(ledger.lists(false).map(({ collection, rows }) => [collection, rows]));
  const outputs = finished.flatMap(({ output, prepared }): [string, number][] => (output === undefined ? [] : [[output, prepared.total]]));
  return counts.keep(runId, lists, new Map(outputs));
}
