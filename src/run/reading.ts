import { BehaviorSubject, defer, filter, forkJoin, map, switchMap, takeUntil, tap, type Observable } from 'rxjs';
import { columnsOf, partsOfList, type Collection } from '../collections/index.js';
import { GateError, newConsistency, SourceError } from '../core/index.js';
import type { Column, LeadstreamError, OnDuplicateKey, Row, Warning } from '../core/index.js';
import { ChainRead, countOf, deliver, emptyTally } from '../flow/index.js';
import type { ChainStep, Fault, Page, Tally } from '../flow/index.js';
import { deduping, type StepRuntime } from '../steps/index.js';
import { createClient, defaultFetchingThreads, isSequential, noSpools, readPages } from '../source/index.js';
import type { CollectionReader, ListRange, ServiceClient, Spools } from '../source/index.js';
import { accountsOf, connectionTo, type PlannedStep } from '../plan/index.js';
import type { Counts } from './counts.js';
import { openExpectations, type Expectations } from './gates.js';
import { Ledger } from './ledger.js';
import { SourceRows } from './missing.js';
import type { RunOutputs } from './outputs.js';
import type { Rejects } from './rejects.js';
import { Since } from './since.js';
import type { Claim, Run } from './start.js';
import { completed } from './stop.js';

/** The read of an attempt: the source, the other sides of joins, and the steps. */
export class PipelineRead {
  readonly source: CollectionReader<Row>;
  readonly ledger: Ledger;
  /** On the rows of each sink with a `where`, by its name, and on those of all others. */
  readonly expectations = new Map<string | undefined, Expectations>();
  readonly presence: SourceRows;
  readonly since: Since | undefined;
  /** Of earlier runs; a run that only prints has none. */
  counts: Counts | undefined;
  spools: Spools = noSpools;
  /** The source, once it is open with its spooled pages. */
  #reader: CollectionReader<Row>;
  /** By service. */
  readonly #clients = new Map<string, ServiceClient>();
  readonly #read = new ChainRead({ purpose: 'writing' }, {});
  /** For each other side of a join: emits a failure if it has more rows by now. */
  readonly #sides: Observable<LeadstreamError | undefined>[] = [];
  /** Index of the last step that needs no more rows; -1 for none. */
  readonly #stop$ = new BehaviorSubject(-1);

  constructor(
    private readonly run: Run,
    /** Start of the first of the runs that share the pages, ISO 8601. */
    private readonly firstStart: string,
    private readonly rejects: Pick<Rejects, 'add' | 'flush'>,
    /** Called with each page that leaves a step, and its name. Such a read may end early, so the list is not checked. */
    private readonly observe?: (page: Page, at: string) => void,
  ) {
    const { plan, connection, reveal, expect, onDuplicateKey, fingerprint } = run.pipeline;
    const client = this.#clientOf(plan.collection);
    this.source = client.reader(plan.collection, reveal);
    this.#reader = this.source;
    this.ledger = new Ledger(run.pipeline, this.source, newConsistency(this.#mode, onDuplicateKey));
    const of = { fingerprint, service: connection.baseUrl, account: accountsOf(run.pipeline), collection: plan.collection.name };
    const single = client.reader(plan.collection, reveal);
    const warn = ({ code, message }: Warning) => {
      if (connection.strict) throw new GateError('E_GATE_STRICT', `${code}: ${message}`);
      run.warn({ code, message });
    };
    this.presence = new SourceRows({
      ...{ of, acceptDeletes: run.options.acceptDeletes ?? false },
      ...{ collection: plan.collection, consistency: this.ledger.consistency, isWhole: () => !this.partial },
      ...{ concurrency: client.concurrency, signal: run.stop.signal, find: (id) => single.find(id), warn },
    });
    const { since } = run.pipeline;
    this.since = since && !observe ? new Since(since, run.pipeline, run) : undefined;
    const apart = new Set(plan.sinks.map(({ at, where }) => (where === undefined ? undefined : at)));
    if (expect) for (const at of apart) this.expectations.set(at, openExpectations(expect, plan.columns(), at));
  }

  /** Moves a row to the rejects. @param columns Those of the row, where it was rejected. */
  readonly reject = (at: string, columns: readonly Column[], row: Row, fault: Fault): void => {
    this.presence.onReject(columns, row);
    this.rejects.add(at, columns, row, fault);
  };

  /** Whether a part of the list is left unread: a limit aborts requests, and pages that have left the source go on. */
  get partial(): boolean {
    return this.stoppedBy !== undefined;
  }

  get failedAt(): string | undefined {
    return this.#read.failedAt;
  }

  get stoppedBy(): Pick<PlannedStep, 'at'> | undefined {
    const { plan, pages } = this.run.pipeline;
    return plan.steps[this.#stop$.value] ?? (pages && plan.stoppedBy);
  }

  get #range(): ListRange | undefined {
    const { pages } = this.run.pipeline;
    if (!pages) return this.since?.range;
    return { from: (pages.first - 1) * this.source.limit, to: pages.last * this.source.limit };
  }

  /**
   * @param doubt Why all of the list is read, if an attempt to read its end only was given up.
   * @returns `false` if the pages that determined the day of the outputs are unusable.
   */
  async open(claim: Claim, outputs: RunOutputs['opened'], doubt?: string): Promise<boolean> {
    const { run, since } = this;
    this.counts = await run.counts();
    const why = since?.begin(outputs, this.counts, doubt);
    const message = `${this.source.collection.name}: the whole list is read, because ${why}`;
    if (why !== undefined) run.warn({ code: 'W_SOURCE_SINCE', message });
    this.ledger.offset = since?.range?.from ?? 0;
    // Passes are over whole lists.
    if (since?.range) this.ledger.consistency.mode = 'repair';
    const ran = outputs.flatMap(({ earlier }) => earlier?.since?.run ?? []).toSorted();
    this.spools = await run.spools(since?.range === undefined, ran.at(-1));
    this.#reader = await this.spools.spooled(this.source);
    return this.run.begin(claim, this.spools);
  }

  /** Reads the collection through all steps and writes every page. @returns A failure if another side of a join has unread rows. */
  async through(write: (page: Page) => Promise<void>): Promise<LeadstreamError | undefined> {
    const { ledger, run } = this;
    const { plan, onError } = run.pipeline;
    const { signal } = run.stop;
    const { collection } = plan;
    const onFault = (row: Row, fault: Fault) => {
      ledger.source.tally[onError === 'null' ? 'nulled' : 'rejected'] += 1;
      if (onError !== 'null') this.reject(collection.name, columnsOf(collection), row, fault);
      return onError === 'null';
    };
    const faults = onError === 'fail' ? {} : { onFault };
    const onPage = (page: Page) => {
      ledger.onPage(page);
      this.presence.onPage(page);
    };
    const taking = { onPage, onRead: this.since?.onRead, onKeys: this.presence.onKeys };
    const reading = { ...this.#options(collection.name), ...faults, ...taking, lookAgain: true, range: this.#range };
    const pages$ = run.options.part?.pages(this.#reader, reading, ledger) ?? readPages(this.#reader, reading, ledger.consistency);
    await completed(this.#passed(this.#unique(pages$, collection), write), signal);
    let late: LeadstreamError | undefined;
    await completed(forkJoin(this.#sides).pipe(tap((failures) => (late = failures.find((failure) => failure !== undefined)))), signal);
    return late;
  }

  async close(): Promise<void> {
    await this.spools.close();
    for (const client of this.#clients.values()) await client.close();
  }

  #clientOf({ name: list }: Collection): ServiceClient {
    const { run } = this;
    const [service] = partsOfList(list);
    const options = { threads: defaultFetchingThreads(), ...connectionTo(run.pipeline, list), secrets: run.pipeline.secrets };
    const client = this.#clients.get(service) ?? createClient(options, run.events, run.limiters);
    this.#clients.set(service, client);
    return client;
  }

  #passed(pages$: Observable<Page>, write: (page: Page) => Promise<void>): Observable<unknown> {
    const { events, pipeline } = this.run;
    const { key } = pipeline.plan.collection;
    const steps = this.ledger.steps.map(({ step, tally }): ChainStep => {
      const { at, definition, input: columns } = step;
      return { at, blocking: definition.blocking, open: () => this.#open(step, tally), known: () => ({ key, columns }) };
    });
    const onPage = (page: Page, at: string) => {
      this.observe?.(page, at);
      events.emit('step', () => ({ at, number: page.number, rows: countOf(page) }));
    };
    return this.#read.through(pages$.pipe(takeUntil(this.#after(-1))), steps, onPage).pipe(
      deliver(async (page) => {
        this.expectations.get(undefined)?.observe(page);
        await write(page);
        await this.rejects.flush();
      }),
    );
  }

  #open(step: PlannedStep, tally: Tally) {
    const { plan, onError, hmacKey } = this.run.pipeline;
    const place = plan.steps.indexOf(step);
    const before = plan.steps.slice(0, place);
    // After a blocking step, the source has already ended.
    const isFed = before.every(({ definition }) => !definition.blocking);
    return step.definition.open(step.config, {
      at: step.at,
      tally,
      stop: () => isFed && this.#stop$.next(Math.max(place, this.#stop$.value)),
      stopped$: this.#after(place),
      reject: (row, fault) => this.reject(step.at, step.input, row, fault),
      rejectsStored: () => this.rejects.flush(),
      collection: plan.collection,
      collections: plan.collections,
      input: step.input,
      onError,
      distinct: !this.observe && this.#checks(plan.collection) && before.every(({ definition }) => definition.keepsRows),
      firstStart: new Date(this.firstStart),
      hmacKey,
      scratch: this.run.state.folder('scratch'),
      lookup: (collection, reveal) => this.#lookup(step.at, collection, reveal),
      read: this.#sideOf(step.at),
    });
  }

  #after(place: number): Observable<unknown> {
    return this.#stop$.pipe(filter((by) => by > place));
  }

  #lookup(at: string, collection: Collection, reveal: readonly string[]) {
    const client = this.#clientOf(collection);
    const reader = client.reader(collection, reveal);
    const counts = { requests: 0, hits: 0, misses: 0 };
    this.ledger.lookups.push({ at, collection: collection.name, counts, findings: reader.findings });
    return { find: (id: string) => reader.find(id), concurrency: client.concurrency, counts };
  }

  /** Returns a function that reads the other side of a join. */
  #sideOf(at: string): NonNullable<StepRuntime['read']> {
    return (collection, reveal, onDuplicateKey, used = columnsOf(collection, reveal).map(({ name }) => name)) => {
      const consistency = newConsistency(this.#mode, onDuplicateKey);
      const side = this.#clientOf(collection).reader(collection, reveal);
      const count = { at, collection: collection.name, consistency, findings: side.findings, rows: 0 };
      this.ledger.sides.push(count);
      const onPage = (page: Page) => void (count.rows += countOf(page));
      const onEnd = (hasMore: () => Observable<boolean>) => {
        const added = `${at}: rows were added to ${collection.name} after it was read`;
        const failure = isSequential(collection.served)
          ? new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${added}, or its end was an outage`)
          : new GateError('E_GATE_CONSISTENCY', added);
        this.#sides.push(hasMore().pipe(map((more) => (more ? failure : undefined))));
      };
      const read$ = defer(() => this.spools.spooled(side)).pipe(
        switchMap((reader) => readPages(reader, { ...this.#options(collection.name), at, onPage, onEnd }, consistency)),
        (pages$) => this.#unique(pages$, collection, onDuplicateKey),
      );
      return this.run.options.part?.side(count, read$, used) ?? read$;
    };
  }

  get #mode() {
    return this.observe ? 'off' : this.run.pipeline.consistency.mode;
  }

  /** Whether a run leaves out repeated rows of a list. An unpaged list is one response, which is not checked. */
  #checks({ paged }: Collection, onDuplicateKey = this.run.pipeline.onDuplicateKey): boolean {
    return this.run.pipeline.consistency.mode !== 'off' && onDuplicateKey !== 'keep_all' && paged;
  }

  /** Leaves out rows that a run would not see, where the list is not checked. */
  #unique(pages$: Observable<Page>, collection: Collection, onDuplicateKey?: OnDuplicateKey): Observable<Page> {
    const isMissing = this.observe && this.#checks(collection, onDuplicateKey);
    return isMissing ? pages$.pipe(deduping(collection.key, {}, emptyTally())) : pages$;
  }

  /** Whether it does not matter how many pages are requested and in memory: all are read, and their number was not chosen. */
  get #isGrouped(): boolean {
    const { plan } = this.run.pipeline;
    return !this.observe && !plan.steps.some(({ definition }) => definition.most);
  }

  #options(collection: string) {
    const { consistency } = this.run.pipeline;
    const connection = connectionTo(this.run.pipeline, collection);
    const expectedRows = this.counts?.ofList(collection)?.rows;
    return {
      ...connection,
      maxPasses: consistency.maxPasses,
      expectedRows,
      events: this.run.events,
      grouped: this.#isGrouped && connection.window === undefined,
    };
  }
}
