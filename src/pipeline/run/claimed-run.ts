import { GateError, limitReached, reasonOf, withKeyOrigin, type Row } from '../../core/index.js';
import { RunLog } from '../../lake/index.js';
import { createClient, defaultFetchingThreads, noSpools, type CollectionReader, type Spools } from '../../source/index.js';
import { evaluateGates } from '../gates/evaluate.js';
import { openExpectations } from '../gates/expectations.js';
import { refuseReplacing, standingOutputs } from '../gates/partial.js';
import { passGates, type GateResult } from '../gates/result.js';
import { keyOriginOf } from '../spec/key-origin.js';
import type { Pipeline } from '../spec/pipeline.js';
import { LateRows, NewFields, StaleDay, type Attempt } from './attempt.js';
import { Chain } from './chain.js';
import { refuseStopped } from './completed.js';
import { countsOfPart, noCounts, type Counts } from './counts.js';
import { EarlyStop } from './early-stop.js';
import { noteFailed, type FailedRunReport } from './failed-run.js';
import { remembered } from './fields.js';
import { Ledger, type HowRead } from './ledger.js';
import { OpenedOutputs, published, type PreparedOutputs } from './outputs.js';
import { Profiler } from './profile.js';
import { Rejects } from './rejects.js';
import type { RunReport } from './report.js';
import { restsOnPages } from './rests-on-pages.js';
import type { RunOptions } from './run-options.js';
import type { Claim } from './claim.js';
import type { Run } from './start.js';

/** One attempt at a run whose outputs are locked: it reads, prepares and commits, and leaves nothing behind when it fails. */
export class ClaimedRun {
  readonly #client;
  readonly #bare: CollectionReader<Row>;
  readonly #ledger: Ledger;
  readonly #expectations;
  readonly #stop: EarlyStop;
  readonly #profiler: Profiler | undefined;
  #gates: readonly GateResult[] = [];
  #rejects: Rejects | undefined;
  #outputs: OpenedOutputs | undefined;
  #prepared: PreparedOutputs | undefined;
  #spools: Spools = noSpools;
  #counts: Counts = noCounts;
  #logged = false;
  /** Where something whole stood before the run, by the place of the sink. */
  #standing: ReadonlyMap<string, string> = new Map();

  /** @param attempt What the attempts before this one found out. */
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
    this.#profiler = options.profile ? new Profiler(plan.collection) : undefined;
  }

  /** @throws {BeginAgain} When the run has to begin again. @throws {StaleDay} When it needs other paths. */
  async execute(): Promise<RunReport> {
    // The thread that fetches starts while outputs are opened, and not after.
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
    // Pages that were on their way to the disk are there by now.
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
      runLog: new RunLog(run.state.path, pipeline.manifestKey),
      scratch: run.state.scratch,
      signal: options.signal,
      warn: run.warn,
      columns: this.#ledger.fixColumns,
      reject: rejects.add,
      events: run.events,
    });
    this.#outputs = outputs;
    // A field keeps its column, whatever other comes before it under a name like its own.
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
      profiler: this.#profiler,
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
    // The rejects come first: who sees the outputs finds what they lack.
    const actions = [...(await rejects.actions()), ...(await prepared.actions(ledger.facts(report)))];
    refuseStopped(this.options.signal);
    // What no log can hold comes before it: a run that is killed between them publishes no file, and the next one gives all rows again.
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
    return { ...report, ...this.#known(), finishedAt: new Date().toISOString() };
  }

  /** What a run did that published nothing, as far as it came. */
  async #failedReport(): Promise<FailedRunReport> {
    const report = this.#ledger.report(this.run, this.#prepared?.outputs ?? [], this.#howRead);
    return { ...report, ...this.#known(), finishedAt: new Date().toISOString(), keptPages: await this.#spools.pages() };
  }

  /** What a report has beside the books. */
  #known(): Pick<RunReport, 'gates' | 'profile'> {
    return { gates: this.#gates, ...(this.#profiler && { profile: this.#profiler.profile() }) };
  }

  get #howRead(): HowRead {
    return { resumed: this.#resumed, since: this.#since, partial: this.#stop.stopped, rejects: this.claim.rejects };
  }

  /** Once: all pages are read by now, so what comes later is of rows that came while the run began again. */
  #refuseNewFields(): void {
    // How far a read comes that is stopped depends on who is faster, and columns must not.
    if (this.pipeline.onNewField !== 'restart' || this.attempt?.found !== undefined || this.#stop.stopped) return;
    const missed = this.#ledger.columns.missed;
    if (missed.length > 0) throw new NewFields(missed, this.#resumed);
  }

  /** Pages of interrupted runs; those of an earlier attempt are this run's own. */
  get #resumed(): number {
    return this.attempt?.resumed ?? this.#spools.resumed;
  }

  /** When the first of the runs began that share the pages. */
  get #since(): string {
    const { startedAt } = this.run;
    const { startedAt: spooledAt = startedAt } = this.#spools;
    return spooledAt < startedAt ? spooledAt : startedAt;
  }

  /** @returns What has to be thrown. */
  async #afterFailure(failure: unknown): Promise<unknown> {
    if (!restsOnPages(failure)) return withKeyOrigin(limitReached(failure) ?? failure, keyOriginOf(this.pipeline));
    // The next run must see what the service has by then: what is wrong may be what spooled.
    await this.run.forgetPages(this.#spools).catch(this.run.nuisance);
    return failure instanceof GateError && this.options.keepFailed ? this.#quarantined(failure) : failure;
  }

  /** Puts aside what a gate refused. What went wrong first is what has to be told, wherever the outputs end. */
  async #quarantined(refused: GateError): Promise<GateError> {
    const { pipeline, run } = this;
    const paths = (await this.#prepared?.quarantine(run.nuisance)) ?? [];
    if (paths.length === 0) return refused;
    run.warn({ code: 'W_RUN_KEPT', message: `${pipeline.name}: not published, but kept for inspection: ${paths.join(', ')}` });
    return refused.keeping(paths);
  }

  async #close(): Promise<void> {
    // What is logged is left for whoever recovers it.
    if (!this.#logged) {
      await this.#outputs?.abort();
      // What went wrong first is what has to be told.
      await this.#rejects
        ?.close()
        .catch((failure: unknown) =>
          this.run.warn({ code: 'W_SINK_TIDY', message: `the rejects of this run are not kept: ${reasonOf(failure)}` }),
        );
    }
    await this.#spools.close();
    await this.#client.close();
  }
}
