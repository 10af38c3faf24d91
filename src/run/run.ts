import { GateError, LeadstreamError, limitReached, withKeyOrigin, type Column, type ErrorCode } from '../core/index.js';
import type { Page } from '../flow/index.js';
import { RunLog } from '../lake/index.js';
import { keyOriginOf, type Pipeline } from '../plan/index.js';
import { prepareFetching } from '../source/index.js';
import { evaluateGates, passGates, refuseReplacing, standingOutputs } from './gates.js';
import { refuseStopped } from './stop.js';
import { noteFailed, type GateResult, type RunReport } from './report.js';
import type { HowRead } from './ledger.js';
import { openOutputs, type Output, type RunOutputs } from './outputs.js';
import { each, publish, type CommitLog } from './publish.js';
import { PipelineRead } from './reading.js';
import { Rejects } from './rejects.js';
import { notify, type RunEnd } from './notify.js';
import { Run, type Claim, type RunOptions } from './start.js';

/**
 * Runs a pipeline: reads the whole collection through its steps into all sinks, checks books and gates, and publishes. Nothing has its
 * final name before. A failure leaves everything as it was, and keeps the pages read for the next run.
 *
 * @returns The report. It resolves only after publishing.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments. If nothing was published: `SourceError`, `StepError`, `SinkError`,
 * `GateError`, `E_RUN_LOCKED`, `E_RUN_DEADLINE`, or `E_RUN_ABORTED` after `signal`.
 *
 * @example
 * const report = await runPipeline(await loadPipeline('leads.yaml'), { signal });
 * console.log(`${report.read} rows were read`);
 */
export async function runPipeline(pipeline: Pipeline, options: RunOptions = {}): Promise<RunReport> {
  const run = new Run(pipeline, options);
  const end = await run.events
    .during(
      'run',
      () => ({ pipeline: pipeline.name }),
      () => untilPublished(run),
      ({ pages, read }) => ({ pages, read }),
    )
    .then(
      (report): RunEnd => ({ report }),
      (failure: unknown): RunEnd => ({ failure }),
    );
  run.stop.forget();
  if ('failure' in end) run.participant?.barrier.fail();
  if ('report' in end) await options.part?.published?.(end.report).catch(run.nonFatal('cleanup failed'));
  if (options.part?.deliver === undefined) await notify(run, end);
  if ('failure' in end) throw end.failure;
  return end.report;
}

async function untilPublished(run: Run): Promise<RunReport> {
  const { pipeline, runId } = run;
  pipeline.warnings.forEach(run.warn);
  if (pipeline.connection.threads !== 0) prepareFetching();
  for (;;) {
    let claim: Claim | undefined;
    try {
      claim = await run.claim();
      let ended: Ended = { again: {} };
      while ('again' in ended) {
        const place = { runId, stores: run.stores, scratch: run.state.folder('scratch') };
        const rejects = await Rejects.open({ ...pipeline.rejects, path: claim.rejects }, pipeline.plan.collection, place);
        ended = await new Attempt(run, claim, ended.again, rejects).execute();
      }
      if ('report' in ended) return ended.report;
      // Those pages are gone, so this happens once, unless others spool and fail meanwhile.
    } catch (failure) {
      await claim?.lock.release();
      if (!(await run.waits(failure, claim !== undefined))) throw limitReached(failure) ?? failure;
    } finally {
      await claim?.lock.release();
    }
  }
}

interface Found {
  /** Undeclared fields with a column from the start, by the service's name. */
  readonly fields?: readonly string[];
  readonly lateRows?: boolean;
  readonly resumed?: number | undefined;
  /** Why the whole list has to be read in spite of `since`. */
  readonly doubt?: string;
}

/** It published, starts again, or has outputs with the day of a run whose pages are not used. */
type Ended = { readonly report: RunReport } | { readonly again: Found } | { readonly stale: true };

/** Reads, prepares and commits; leaves nothing behind on failure. The error has the report. */
class Attempt {
  readonly #reading: PipelineRead;
  #gates: readonly GateResult[] = [];
  #outputs: RunOutputs | undefined;
  #prepared: readonly Output[] = [];
  /** Whether the commit is logged or done, so that nothing may be removed. */
  #isFinal = false;

  constructor(
    private readonly run: Run,
    private readonly claim: Claim,
    private readonly found: Found,
    private readonly rejects: Rejects,
  ) {
    this.#reading = new PipelineRead(run, claim.firstStart, rejects);
  }

  async execute(): Promise<Ended> {
    const ended = await this.#ended().catch(async (failure: unknown) => ({ thrown: await this.#afterFailure(failure) }));
    await this.#close();
    if (!('thrown' in ended)) return ended;
    const { ledger, spools } = this.#reading;
    const report = ledger.report(this.run, this.#prepared, this.#howRead);
    // Pages on their way to the disk are written by now.
    const keptPages = await spools.pages();
    noteFailed(ended.thrown, { ...report, gates: this.#gates, finishedAt: new Date().toISOString(), keptPages });
    throw ended.thrown;
  }

  async #ended(): Promise<Ended | { readonly thrown: unknown }> {
    const reading = this.#reading;
    const outputs = (this.#outputs = await this.#open());
    const { plan } = this.run.pipeline;
    const standing = await standingOutputs(outputs.opened, this.claim.outputs, this.run.stores);
    if (!this.run.options.allowPartial) refuseReplacing(plan, standing);
    if (!(await reading.open(this.claim, outputs.opened, this.found.doubt))) return { stale: true };
    // By the manifests, otherwise by the counts.
    const before = outputs.opened.flatMap(({ earlier, output }) => (earlier ?? reading.counts?.ofOutput(output))?.undeclared ?? []);
    const { part } = this.run.options;
    reading.ledger.continue(before, this.found.fields ?? [], part?.undeclared);
    // All parts have the columns of the plan.
    if (part?.undeclared) reading.ledger.fixColumns();
    const { since } = reading;
    let doubt: string | undefined;
    const write = async (page: Page) => {
      await since?.beforePage(page.number, outputs);
      await outputs.write(page);
    };
    const late = await reading.through(write).catch((failure: unknown) => {
      doubt = since?.doubtOf(failure);
      if (doubt === undefined) throw failure;
      return undefined;
    });
    doubt ??= since?.doubt(reading.ledger.consistency);
    // No spooled pages were used so far.
    if (doubt !== undefined) return { again: { ...this.found, resumed: undefined, doubt } };
    await since?.beforePage(Infinity, outputs);
    if (late !== undefined) {
      // Starts again once, but never after rows were printed; the pages are fine.
      const isFinal = this.found.lateRows || plan.sinks.some(({ definition }) => definition.prints);
      return isFinal ? { thrown: late } : this.#again({ lateRows: true });
    }
    await outputs.begin();
    // Once: then all pages were read. How far a stopped read gets depends on timing, and columns must not.
    const mayRestart = this.run.pipeline.onNewField === 'restart' && this.found.fields === undefined && !reading.partial;
    const missed = mayRestart ? reading.ledger.missed : [];
    if (missed.length > 0) {
      this.#warnOf(missed);
      return this.#again({ fields: [...reading.source.findings.unknown.keys()] });
    }
    const gathered = { ledger: reading.ledger, expectations: reading.expectations, outputs: outputs.opened, rejects: this.rejects };
    await part?.gather?.(gathered);
    this.#prepared = await outputs.prepare();
    refuseStopped(this.run.stop.signal);
    if (part?.deliver) {
      await this.claim.lock.check();
      await part.deliver(gathered);
      return { report: { ...reading.ledger.report(this.run, this.#prepared, this.#howRead), finishedAt: new Date().toISOString() } };
    }
    return { report: await this.#publish(this.#prepared, standing) };
  }

  #open(): Promise<RunOutputs> {
    const { run, claim } = this;
    const { pipeline, options } = run;
    return openOutputs(pipeline.plan.sinks, {
      baseDir: pipeline.baseDir,
      onError: pipeline.onError,
      stdout: options.stdout ?? process.stdout,
      pipeline: pipeline.name,
      runId: run.runId,
      stores: run.stores,
      participant: run.participant,
      part: options.part?.table,
      key: pipeline.plan.collection.key,
      firstStart: () => claim.firstStart,
      runDate: () => claim.firstStart.slice(0, 10),
      runLog: new RunLog(run.state.path),
      scratch: run.state.folder('scratch'),
      signal: run.stop.signal,
      planned: pipeline.plan.columns(),
      warn: run.warn,
      columns: this.#reading.ledger.fixColumns,
      presence: this.#reading.presence,
      reject: this.#reading.reject,
      onKept: (at, page) => this.#reading.expectations.get(at)?.observe(page),
      events: run.events,
    });
  }

  async #publish(outputs: readonly Output[], standing: ReadonlyMap<string, string>): Promise<RunReport> {
    const { run, claim, rejects } = this;
    const { ledger, counts, spools, expectations, stoppedBy, since } = this.#reading;
    const { pipeline, options, warn } = run;
    const report = ledger.report(run, outputs, this.#howRead);
    if (stoppedBy) {
      const part = `${stoppedBy.at} stopped the read of ${pipeline.plan.collection.name}, so the outputs contain only part of it`;
      warn({ code: 'W_RUN_PARTIAL', message: `${part}; later runs are not compared with this one` });
    }
    if (since?.missed !== undefined) warn({ code: 'W_SOURCE_SINCE', message: `${report.collection}: ${since.missed}` });
    const allowShrink = options.allowShrink ?? false;
    this.#gates = evaluateGates({ pipeline, report, ledger, outputs, rejects, allowShrink, counts, standing, expectations }, warn);
    passGates(this.#gates, warn);
    await claim.lock.check();
    // Rejects come first: whoever sees the outputs can find the rows that they lack.
    const facts = { ...ledger.facts(report), since: since?.state(ledger.consistency) };
    const own = await rejects.actions();
    const actions = [...own, ...(await each(outputs, ({ prepared }) => prepared.actions(facts))).flat()];
    refuseStopped(run.stop.signal);
    await rejects.commit();
    const totals = new Map(outputs.flatMap(({ output, prepared }) => (output === undefined ? [] : [[output, prepared.total]])));
    const { undeclared = [] } = facts;
    const kept = report.partial ? counts?.ofPart(totals.keys()) : counts?.of(ledger.reads(false), totals, undeclared);
    const nonFatal = run.nonFatal('cleanup failed');
    const log: CommitLog = {
      ...{ folder: run.state.folder('redo-log'), runId: run.runId, pipeline: pipeline.name },
      ...{ spent: await spools.folders(), counts: kept },
      logged: () => (this.#isFinal = true),
      // The next run must not read a published run's pages again, and needs its counts.
      settle: async () => {
        await run.forgetPages(spools).catch(nonFatal);
        if (kept) await counts?.keep(kept).catch(run.nonFatal('the counts of this run were not stored', 'W_RUN_COUNTS'));
      },
    };
    const commit = { outputs: claim.paths, actions };
    // A run that only prints is not logged.
    await publish(
      { outputs, commit, partial: report.partial, events: run.events, done: run.published, nonFatal },
      run.publishes ? log : undefined,
    );
    this.#isFinal = true;
    return { ...report, gates: this.#gates, finishedAt: new Date().toISOString() };
  }

  get #howRead(): HowRead {
    const { startedAt } = this.run;
    const { spools, partial } = this.#reading;
    const { startedAt: spooledAt = startedAt } = spools;
    const since = spooledAt < startedAt ? spooledAt : startedAt;
    return { resumed: this.#resumed, since, partial, rejects: this.claim.rejects };
  }

  /** Pages of interrupted runs, without those of this run's earlier attempts. */
  get #resumed(): number {
    return this.found.resumed ?? this.#reading.spools.resumed;
  }

  #again(found: Found): Ended {
    return { again: { ...this.found, ...found, resumed: this.#resumed } };
  }

  #warnOf(fields: readonly Column[]): void {
    const { plan, spoolMaxAgeMs } = this.run.pipeline;
    // A service whose field names are data can have any number of them.
    const names = fields.slice(0, 20).map(({ original }) => JSON.stringify(original));
    if (fields.length > 20) names.push(`${fields.length - 20} more`);
    const how = spoolMaxAgeMs === undefined || plan.stoppedBy ? 'and requests all pages again' : 'with the spooled pages';
    const message = `undeclared fields first appeared after page 1: ${names.join(', ')}; the run starts again ${how}`;
    this.run.warn({ code: 'W_RUN_RESTARTED', message: `${plan.collection.name}: ${message}` });
  }

  async #afterFailure(failure: unknown): Promise<unknown> {
    const { run } = this;
    const isOfPages = failure instanceof GateError || (failure instanceof LeadstreamError && ofPages.has(failure.code));
    if (!isOfPages) return withKeyOrigin(limitReached(failure) ?? failure, keyOriginOf(run.pipeline));
    // The next run must read the service again: the spooled pages may be the problem.
    await run.forgetPages(this.#reading.spools).catch(run.nonFatal('cleanup failed'));
    return failure;
  }

  async #close(): Promise<void> {
    const { run, rejects } = this;
    // Failures here are only warnings, so that the run's outcome is reported.
    const cleanup = run.nonFatal('cleanup failed');
    // A logged commit is left to recovery.
    if (!this.#isFinal) {
      await this.#outputs?.abort().catch(cleanup);
      await rejects.close().catch(run.nonFatal('the rejects of this run were not kept'));
    }
    await this.#reading.close().catch(cleanup);
  }
}

/** The next run may find corrected rows. After others, as with a full disk, the pages are fine. */
const ofPages = new Set<ErrorCode>([
  'E_SOURCE_ORDER',
  'E_SOURCE_PAGE_CAP',
  'E_SOURCE_PAGE_IGNORED',
  'E_SOURCE_FIRST_PAGE',
  'E_SOURCE_ENDLESS',
  'E_SOURCE_CURSOR',
  'E_SOURCE_LINK',
  'E_STEP_FIELD',
  'E_STEP_VALUE',
  'E_STEP_EXPRESSION',
  'E_STEP_CONDITION',
  'E_STEP_FUNCTION',
  'E_STEP_OVERFLOW',
  'E_STEP_MATCHES',
  'E_SINK_VALUE',
  'E_SINK_FIELD',
  'E_SINK_KEY',
]);
