import { GateError, limitReached, reasonOf, withKeyOrigin, type Row, SinkError, SourceError, StepError } from '../core/index.js';
import { RunLog } from '../lake/index.js';
import { createClient, defaultFetchingThreads, noSpools, type CollectionReader, type Spools } from '../source/index.js';
import { evaluateGates, openExpectations, passGates } from './gates.js';
import { refuseReplacing, standingOutputs } from './baseline.js';
import { keyOriginOf, type Pipeline } from '../plan/index.js';
import { LateRows, NewFields, StaleDay, type Attempt } from './attempt.js';
import { Chain } from './chain.js';
import { refuseStopped, EarlyStop } from './stop.js';
import { countsOfPart, noCounts, type Counts } from './counts.js';
import { noteFailed, type FailedRunReport, type GateResult, type RunReport } from './report.js';
import { remembered } from './fields.js';
import { Ledger, type HowRead } from './ledger.js';
import { OpenedOutputs, published, type PreparedOutputs } from './outputs.js';
import { Rejects } from './rejects.js';
import type { RunOptions, Run, Claim } from './start.js';

/** An attempt at a run whose outputs are locked: it reads, prepares and commits, and leaves nothing behind if it fails. */
export class ClaimedRun {
  readonly #client;
  readonly #bare: CollectionReader<Row>;
  readonly #ledger: Ledger;
  readonly #expectations;
  readonly #stop: EarlyStop;
  #gates: readonly GateResult[] = [];
  #rejects: Rejects | undefined;
  #outputs: OpenedOutputs | undefined;
  #prepared: PreparedOutputs | undefined;
  #spools: Spools = noSpools;
  #counts: Counts = noCounts;
  #logged = false;
  /** Paths of complete outputs that existed before the run, by the place of the sink. */
  #standing: ReadonlyMap<string, string> = new Map();

  /** @param attempt What previous attempts have found. */
  constructor(
    private readonly pipeline: Pipeline,
    private readonly options: RunOptions,
    private readonly run: Run,
    private readonly claim: Claim,
    private readonly attempt: Attempt | undefined,
  ) {
    const { plan, connection, secrets, reveal, expect } = pipeline;
    this.#client = createClient({ threads: defaultFetchingThreads(), ...connection, secrets }, run.events, run.limiters);
    this.#bare = this.#client.reader(plan.collection, reveal);
    this.#ledger = new Ledger(pipeline, this.#bare, attempt?.found ?? []);
    this.#expectations = expect && openExpectations(expect, plan.columns());
    this.#stop = new EarlyStop(plan);
  }

  /** Executes the attempt. @throws {BeginAgain} If the run must start again. @throws {StaleDay} If it needs other paths. */
  async execute(): Promise<RunReport> {
    // The fetching thread starts while the outputs are being opened, not after.
    this.#client.prepare();
    const rejects = await Rejects.open(
      { ...this.pipeline.rejects, path: this.claim.rejects },
      this.pipeline.plan.collection,
      this.run.runId,
    );
    this.#rejects = rejects;
    const ended = await this.#published(rejects).then(
      (report) => ({ report }),
      async (failure: unknown) => ({ thrown: await this.#afterFailure(failure) }),
    );
    await this.#close();
    if ('report' in ended) return ended.report;
    // By now, pages in transit to the disk have been written.
    noteFailed(ended.thrown, await this.#failedReport());
    throw ended.thrown;
  }

  async #published(rejects: Rejects): Promise<RunReport> {
    const outputs = await this.#open(rejects);
    const reader = await this.#openSource();
    await this.#read(reader, outputs, rejects);
    const begun = await outputs.begin();
    this.#refuseNewFields();
    this.#prepared = await begun.prepare();
    refuseStopped(this.options.signal);
    return this.#publish(this.#prepared, rejects);
  }

  async #open(rejects: Rejects): Promise<OpenedOutputs> {
    const { pipeline, options, run, claim } = this;
    const { plan } = pipeline;
    const outputs = await OpenedOutputs.open(plan.sinks, {
      baseDir: pipeline.baseDir,
      onError: pipeline.onError,
      stdout: options.stdout ?? process.stdout,
      pipeline: pipeline.name,
      runId: run.runId,
      key: plan.collection.key,
      runDate: () => claim.date,
      runLog: new RunLog(run.state.path),
      scratch: run.state.scratch,
      signal: options.signal,
      warn: run.warn,
      columns: this.#ledger.fixColumns,
      reject: rejects.add,
      events: run.events,
    });
    this.#outputs = outputs;
    // A field keeps its column, even if another one with a similar name arrives first.
    const earlier = outputs.earlier.flatMap((published) => published?.undeclared ?? []);
    this.#bare.reserve([...earlier, ...remembered(this.attempt?.found ?? [])]);
    this.#standing = await standingOutputs(plan, claim.outputs, outputs.earlier);
    if (!options.allowPartial) refuseReplacing(plan, this.#standing);
    return outputs;
  }

  async #openSource(): Promise<CollectionReader<Row>> {
    this.#counts = await this.run.counts();
    this.#spools = await this.run.spools();
    const reader = await this.#spools.spooled(this.#bare);
    if (!(await this.run.begin(this.claim, this.#spools))) throw new StaleDay();
    return reader;
  }

  async #read(reader: CollectionReader<Row>, outputs: OpenedOutputs, rejects: Rejects): Promise<void> {
    const chain = new Chain(this.pipeline, {
      run: this.run,
      claim: this.claim,
      client: this.#client,
      ledger: this.#ledger,
      stop: this.#stop,
      expectations: this.#expectations,
      rejects,
      outputs,
      counts: this.#counts,
      spools: this.#spools,
      signal: this.options.signal,
    });
    await chain.run(reader);
    const late = await chain.lateRows();
    if (late !== undefined) throw new LateRows(late, this.#resumed);
  }

  async #publish(prepared: PreparedOutputs, rejects: Rejects): Promise<RunReport> {
    const { pipeline, run, claim } = this;
    const ledger = this.#ledger;
    const { outputs } = prepared;
    const report = ledger.report(run, outputs, this.#howRead);
    this.#stop.warnings().forEach(run.warn);
    const allowShrink = this.options.allowShrink ?? false;
    const counts = this.#counts;
    const before = { counts, standing: this.#standing, expectations: this.#expectations };
    this.#gates = evaluateGates({ pipeline, report, ledger, outputs, rejects, allowShrink, ...before }, run.warn);
    passGates(this.#gates, run.warn);
    await claim.lock.check();
    // Rejects come first: anyone who sees the outputs can find the rows they lack.
    const actions = [...(await rejects.actions()), ...(await prepared.actions(ledger.facts(report)))];
    refuseStopped(this.options.signal);
    // Outputs that cannot be logged are committed first: if the run is killed in between, it publishes no file, and the next run passes them all rows again.
    const done = await prepared.commit(report.partial);
    const kept = report.partial ? countsOfPart(run.runId, prepared.totals.keys()) : counts.of(ledger.reads(false), prepared.totals);
    const commit = await run.prepareCommit(claim, actions, this.#spools, kept).catch((failure: unknown) => {
      throw published(failure, done);
    });
    this.#logged = true;
    await run.events.during(
      'commit',
      () => ({ outputs: claim.outputs, actions: actions.length }),
      () =>
        run.commit(
          commit,
          this.#spools,
          () => counts.keep(kept),
          () => prepared.cleanup(),
        ),
    );
    return { ...report, gates: this.#gates, finishedAt: new Date().toISOString() };
  }

  /** Returns the report of a run that published nothing. */
  async #failedReport(): Promise<FailedRunReport> {
    const report = this.#ledger.report(this.run, this.#prepared?.outputs ?? [], this.#howRead);
    return { ...report, gates: this.#gates, finishedAt: new Date().toISOString(), keptPages: await this.#spools.pages() };
  }

  get #howRead(): HowRead {
    return { resumed: this.#resumed, since: this.#since, partial: this.#stop.stopped, rejects: this.claim.rejects };
  }

  /** Restarts for new fields, once. After a restart all pages were already read, so further fields belong to rows added since. */
  #refuseNewFields(): void {
    // How far a stopped read gets depends on timing, and columns must not.
    if (this.pipeline.onNewField !== 'restart' || this.attempt?.found !== undefined || this.#stop.stopped) return;
    const missed = this.#ledger.columns.missed;
    if (missed.length > 0) throw new NewFields(missed, this.#resumed);
  }

  /** Number of pages of interrupted runs; pages of earlier attempts belong to this run. */
  get #resumed(): number {
    return this.attempt?.resumed ?? this.#spools.resumed;
  }

  /** When the first of the runs that share the pages was started. */
  get #since(): string {
    const { startedAt } = this.run;
    const { startedAt: spooledAt = startedAt } = this.#spools;
    return spooledAt < startedAt ? spooledAt : startedAt;
  }

  /** @returns The error to throw. */
  async #afterFailure(failure: unknown): Promise<unknown> {
    if (!restsOnPages(failure)) return withKeyOrigin(limitReached(failure) ?? failure, keyOriginOf(this.pipeline));
    // The next run must read the current state of the service: the spooled pages may be the problem.
    await this.run.forgetPages(this.#spools).catch(this.run.nuisance);
    return failure instanceof GateError && this.options.keepFailed ? this.#quarantined(failure) : failure;
  }

  /** Sets aside what a gate refused. Returns the original error even if this fails. */
  async #quarantined(refused: GateError): Promise<GateError> {
    const { pipeline, run } = this;
    const paths = (await this.#prepared?.quarantine(run.nuisance)) ?? [];
    if (paths.length === 0) return refused;
    run.warn({ code: 'W_RUN_KEPT', message: `${pipeline.name}: not published, but kept for inspection: ${paths.join(', ')}` });
    return refused.keeping(paths);
  }

  async #close(): Promise<void> {
    // A logged commit is left to recovery.
    if (!this.#logged) {
      await this.#outputs?.abort();
      // A failure here is only a warning, so that the original error is reported.
      await this.#rejects
        ?.close()
        .catch((failure: unknown) =>
          this.run.warn({ code: 'W_SINK_TIDY', message: `the rejects of this run were not kept: ${reasonOf(failure)}` }),
        );
    }
    await this.#spools.close();
    await this.#client.close();
  }
}

/** Returns whether a failure is about the content of the pages, rather than about fetching them or writing their rows. */
function restsOnPages(failure: unknown): boolean {
  if (failure instanceof GateError) return true;
  const isJudged = failure instanceof SourceError || failure instanceof StepError || failure instanceof SinkError;
  return isJudged && codes[failure.code];
}

/** By code: whether the service may have corrected the rows or the list by the next run. With a full disk, for example, the pages are fine. */
const codes: Readonly<Record<(SourceError | StepError | SinkError)['code'], boolean>> = {
  E_SOURCE_ORDER: true,
  E_SOURCE_PAGE_CAP: true,
  E_SOURCE_PAGE_IGNORED: true,
  E_SOURCE_FIRST_PAGE: true,
  E_SOURCE_ENDLESS: true,
  E_SOURCE_CURSOR: true,
  E_SOURCE_LINK: true,
  E_SOURCE_CONFIG: false,
  E_SOURCE_AUTH: false,
  E_SOURCE_UNAVAILABLE: false,
  E_SOURCE_ANSWER: false,
  E_SOURCE_ROWS: false,
  E_SOURCE_CLOSED: false,
  E_SOURCE_REFUSED: false,
  E_SOURCE_TLS: false,
  E_SOURCE_PROXY: false,
  E_SOURCE_LIMIT: false,
  E_SOURCE_MAX_PAGES: false,
  E_STEP_FIELD: true,
  E_STEP_VALUE: true,
  E_STEP_EXPRESSION: true,
  E_STEP_CONDITION: true,
  E_STEP_FUNCTION: true,
  E_STEP_OVERFLOW: true,
  E_STEP_MATCHES: true,
  E_STEP_CONFIG: false,
  E_STEP_SCRATCH: false,
  E_SINK_VALUE: true,
  E_SINK_FIELD: true,
  E_SINK_KEY: true,
  E_SINK_CONFIG: false,
  E_SINK_PATH: false,
  E_SINK_FOREIGN: false,
  E_SINK_WRITE: false,
  // The cause is unknown for a custom sink; usually its destination is unavailable.
  E_SINK_FUNCTION: false,
  E_SINK_RUN: false,
  E_SINK_VERIFY: false,
};
