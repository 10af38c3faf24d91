import { defer, map, switchMap, tap, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { newConsistency, type Row } from '../core/index.js';
import { countOf, deliver, linked, type Link, type Page, type Tally } from '../flow/index.js';
import { readPages, type CollectionReader, type ServiceClient, type Spools } from '../source/index.js';
import type { Expectations } from './gates.js';
import type { Pipeline, PlannedStep } from '../plan/index.js';
import { completed, type EarlyStop } from './stop.js';
import type { Counts } from './counts.js';
import type { Ledger } from './ledger.js';
import type { OpenedOutputs } from './outputs.js';
import type { Rejects } from './rejects.js';
import type { Claim, Run } from './start.js';

/** What pages pass through between the source and the outputs. */
export interface Surroundings {
  readonly run: Run;
  readonly claim: Claim;
  readonly client: ServiceClient;
  readonly ledger: Ledger;
  readonly stop: EarlyStop;
  readonly expectations: Expectations | undefined;
  readonly rejects: Rejects;
  readonly outputs: OpenedOutputs;
  readonly counts: Counts;
  readonly spools: Spools;
  readonly signal: AbortSignal | undefined;
}

/** The source, the steps and the outputs of a run, in sequence. */
export class Chain {
  /** For each other side of a join: emits a message if it has more rows by now. */
  readonly #sides: Observable<string | undefined>[] = [];

  constructor(
    private readonly pipeline: Pipeline,
    private readonly around: Surroundings,
  ) {}

  /** Reads the collection through all steps into the outputs; resolves when every page is completely processed. */
  async run(reader: CollectionReader<Row>): Promise<void> {
    const { ledger, signal } = this.around;
    const { plan, deadlineMs } = this.pipeline;
    const options = { ...this.#reading(plan.collection.name), lookAgain: true, onPage: ledger.source.observe };
    await completed(this.#through(readPages(reader, options, ledger.consistency)), signal, deadlineMs);
  }

  /** Re-checks the other sides of joins. @returns A message if rows were added to one of them after it was read. */
  async lateRows(): Promise<string | undefined> {
    let late: string | undefined;
    for (const side$ of this.#sides) {
      const noted$ = side$.pipe(tap((message) => (late = message)));
      await completed(noted$, this.around.signal, this.pipeline.deadlineMs);
      if (late !== undefined) break;
    }
    return late;
  }

  #through(pages$: Observable<Page>): Observable<unknown> {
    const { ledger, stop, run } = this.around;
    const { key } = this.pipeline.plan.collection;
    const links = ledger.steps.map(({ step, tally }): Link => {
      const { at, input } = step;
      return { at, step: this.#open(step, tally), known: () => ({ key, columns: input }) };
    });
    const passing = (each$: Observable<Page>, { at }: Link) =>
      each$.pipe(tap((page) => run.events.emit('step', () => ({ at, number: page.number, rows: countOf(page) }))));
    return linked(pages$.pipe(stop.source()), links, passing).pipe(deliver((page) => this.#write(page)));
  }

  async #write(page: Page): Promise<void> {
    const { expectations, outputs, rejects } = this.around;
    expectations?.observe(page);
    const begun = await outputs.begin();
    await begun.write(page);
    await rejects.flush();
  }

  #open(step: PlannedStep, tally: Tally) {
    const { run, claim, stop, rejects } = this.around;
    const { plan, consistency, onError, hmacKey } = this.pipeline;
    // A list without pages is a single response, which is not checked.
    const isChecked = consistency.mode !== 'off' && plan.collection.paged;
    return step.definition.open(step.config, {
      at: step.at,
      tally,
      stop: stop.of(step),
      stopped$: stop.after(step),
      reject: (row, fault) => rejects.add(step.at, step.input, row, fault),
      collection: plan.collection,
      collections: plan.collections,
      input: step.input,
      onError,
      distinct: isChecked && plan.steps.slice(0, plan.steps.indexOf(step)).every(({ definition }) => definition.keepsRows),
      firstStart: new Date(claim.firstStart),
      hmacKey,
      scratch: run.state.scratch,
      lookup: (collection, reveal) => this.#lookup(step.at, collection, reveal),
      read: (collection, reveal) => this.#readSide(step.at, collection, reveal),
    });
  }

  #lookup(at: string, collection: Collection, reveal: readonly string[]) {
    const { client, ledger } = this.around;
    const reader = client.reader(collection, reveal);
    const counts = { requests: 0, hits: 0, misses: 0 };
    ledger.lookups.push({ at, collection: collection.name, counts, findings: reader.findings });
    return { find: (id: string) => reader.find(id), concurrency: client.concurrency, counts };
  }

  #readSide(at: string, collection: Collection, reveal: readonly string[]): Observable<Page> {
    const { client, ledger, spools } = this.around;
    const consistency = newConsistency(this.pipeline.consistency.mode);
    const side = client.reader(collection, reveal);
    const count = { at, collection: collection.name, consistency, findings: side.findings, rows: 0 };
    ledger.sides.push(count);
    const onPage = (page: Page) => {
      count.rows += countOf(page);
    };
    const onEnd = (hasMore: () => Observable<boolean>) => {
      const message = `${at}: rows were added to ${collection.name} after it was read`;
      this.#sides.push(hasMore().pipe(map((more) => (more ? message : undefined))));
    };
    return defer(() => spools.spooled(side)).pipe(
      switchMap((reader) => readPages(reader, { ...this.#reading(collection.name), at, onPage, onEnd }, consistency)),
    );
  }

  #reading(collection: string) {
    const { connection, consistency } = this.pipeline;
    const { counts, run } = this.around;
    return { ...connection, maxPasses: consistency.maxPasses, expectedRows: counts.ofList(collection)?.rows, events: run.events };
  }
}
