import { GateError, LeadstreamError, limitReached, reasonOf, withKeyOrigin, type Column, type ErrorCode, type Row } from '../core/index.js';
import { RunLog } from '../lake/index.js';
import { createClient, defaultFetchingThreads, noSpools, type CollectionReader, type Spools } from '../source/index.js';
import { evaluateGates, openExpectations, passGates } from './gates.js';
import { refuseReplacing, standingOutputs } from './baseline.js';
import { keyOriginOf, type Pipeline } from '../plan/index.js';
import { Chain } from './chain.js';
import { refuseStopped, EarlyStop } from './stop.js';
import { countsOfPart, noCounts, type Counts } from './counts.js';
import { noteFailed, type FailedRunReport, type GateResult, type RunReport } from './report.js';
import { remembered } from './fields.js';
import { Ledger, type HowRead } from './ledger.js';
import { OpenedOutputs, published, type PreparedOutputs } from './outputs.js';
import { Rejects } from './rejects.js';
import type { RunOptions, Run, Claim } from './start.js';

/** What earlier attempts of a run have found. */
export interface Found {
  /** Undeclared fields that have a column from the start; `undefined` if no attempt ended because of them. */
  readonly fields: readonly Column[] | undefined;
  /** Whether an attempt ended because of late rows. */
  readonly lateRows: boolean;
  /** Number of pages spooled by an interrupted run; `undefined` if this is the first attempt. */
  readonly resumed: number | undefined;
}

/**
 * How an attempt ends unless it fails: it published; or the run starts again with the pages that are available; or it must claim its outputs again, because
 * their paths contain the day of an interrupted run whose pages are not used.
 */
export type Ended = { readonly report: RunReport } | { readonly again: Found } | { readonly stale: true };

/** An attempt at a run whose outputs are locked: it reads, prepares and commits, and leaves nothing behind if it fails. */
export class Attempt {
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

  constructor(
    private readonly pipeline: Pipeline,
    private readonly options: RunOptions,
    private readonly run: Run,
    private readonly claim: Claim,
    private readonly found: Found,
  ) {
    const { plan, connection, secrets, reveal, expect } = pipeline;
    this.#client = createClient({ threads: defaultFetchingThreads(), ...connection, secrets }, run.events, run.limiters);
    this.#bare = this.#client.reader(plan.collection, reveal);
    this.#ledger = new Ledger(pipeline, this.#bare, found.fields ?? []);
    this.#expectations = expect && openExpectations(expect, plan.columns());
    this.#stop = new EarlyStop(plan);
  }

  /** Executes the attempt. The report of a failed one is associated with the error. */
  async execute(): Promise<Ended> {
    const { pipeline, claim, run } = this;
    const rejects = await Rejects.open({ ...pipeline.rejects, path: claim.rejects }, pipeline.plan.collection, run.runId);
    this.#rejects = rejects;
    const ended = await this.#ended(rejects).catch(async (failure: unknown) => ({ thrown: await this.#afterFailure(failure) }));
    await this.#close();
    if (!('thrown' in ended)) return ended;
    // By now, pages in transit to the disk have been written.
    noteFailed(ended.thrown, await this.#failedReport());
    throw ended.thrown;
  }

  async #ended(rejects: Rejects): Promise<Ended | { readonly thrown: unknown }> {
    const outputs = await this.#open(rejects);
    const reader = await this.#openSource();
    if (!reader) return { stale: true };
    const late = await this.#read(reader, outputs, rejects);
    if (late !== undefined) return this.#afterLateRows(late);
    const begun = await outputs.begin();
    const missed = this.#missedFields();
    if (missed.length > 0) return this.#withFields(missed);
    this.#prepared = await begun.prepare();
    refuseStopped(this.options.signal);
    return { report: await this.#publish(this.#prepared, rejects) };
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
    this.#bare.reserve([...earlier, ...remembered(this.found.fields ?? [])]);
    this.#standing = await standingOutputs(plan, claim.outputs, outputs.earlier);
    if (!options.allowPartial) refuseReplacing(plan, this.#standing);
    return outputs;
  }

  /** @returns `undefined` if the pages that determined the day of the outputs turned out to be unusable. */
  async #openSource(): Promise<CollectionReader<Row> | undefined> {
    this.#counts = await this.run.counts();
    this.#spools = await this.run.spools();
    const reader = await this.#spools.spooled(this.#bare);
    return (await this.run.begin(this.claim, this.#spools)) ? reader : undefined;
  }

  /** @returns A message if rows were added to the other side of a join after the join had read it. */
  async #read(reader: CollectionReader<Row>, outputs: OpenedOutputs, rejects: Rejects): Promise<string | undefined> {
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
    return chain.lateRows();
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

  /** Starts again, once, and never after rows were printed; the pages are fine. */
  #afterLateRows(late: string): Ended | { readonly thrown: GateError } {
    if (this.found.lateRows || this.pipeline.plan.sinks.some(({ definition }) => definition.prints))
      return { thrown: new GateError('E_GATE_CONSISTENCY', late) };
    return { again: { ...this.found, lateRows: true, resumed: this.#resumed } };
  }

  /** Returns fields to start again for, once. After that all pages were already read, so further fields belong to rows added since. */
  #missedFields(): readonly Column[] {
    // How far a stopped read gets depends on timing, and columns must not.
    const isAgain = this.pipeline.onNewField === 'restart' && this.found.fields === undefined && !this.#stop.stopped;
    return isAgain ? this.#ledger.columns.missed : [];
  }

  #withFields(fields: readonly Column[]): Ended {
    const { plan, spoolMaxAgeMs } = this.pipeline;
    const names = listed(fields.map(({ original }) => JSON.stringify(original)));
    const off = spoolMaxAgeMs === undefined ? 'spool is off' : plan.stoppedBy && `a run that ${plan.stoppedBy.at} may stop does not spool`;
    const how = off === undefined ? 'with the spooled pages' : `and requests all pages again, because ${off}`;
    const first = `${names} first appeared after page 1 and ${fields.length === 1 ? 'is' : 'are'} not declared`;
    this.run.warn({ code: 'W_RUN_RESTARTED', message: `${plan.collection.name}: ${first}; the run starts again ${how}` });
    return { again: { ...this.found, fields, resumed: this.#resumed } };
  }

  /** Number of pages of interrupted runs; pages of earlier attempts belong to this run. */
  get #resumed(): number {
    return this.found.resumed ?? this.#spools.resumed;
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
    await this.run.forgetPages(this.#spools).catch(this.run.nonFatal);
    return failure;
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

/** A service whose field names are data can have any number of them. */
function listed(names: readonly string[]): string {
  return names.length > 20 ? `${names.slice(0, 20).join(', ')}, ${names.length - 20} more` : names.join(', ');
}

/** Returns whether a failure is about the content of the pages, rather than about fetching them or writing their rows. */
function restsOnPages(failure: unknown): boolean {
  return failure instanceof GateError || (failure instanceof LeadstreamError && ofPages.has(failure.code));
}

/** The service may have corrected the rows or the list by the next run. With a full disk, for example, the pages are fine. */
const ofPages: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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
