import { concat, EMPTY, map, type Observable, switchMap } from 'rxjs';
import { readFile } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { type Consistency, itemAt, LeadstreamError, newConsistency, type Row, SourceError } from '../core/index.js';
import { batchOf, type Page, pageOf, task, withBatch } from '../flow/index.js';
import { untagged } from '../json/index.js';
import { keysBelow, linkedTable, storeTable, tableKinds, textAt } from '../lake/index.js';
import { getIn } from '../options/index.js';
import type { Pipeline } from '../plan/index.js';
import { countsOf, type GatheredPart, type Ledger, type RunReport } from '../run/index.js';
import { type CollectionReader, type ReadingOptions } from '../source/index.js';
import { dayTemplate, isRemote } from '../store/index.js';
import { batchFromRows, type RecordBatch } from '../vector/index.js';
import { areRepeated, type DigestFile } from './digests.js';
import { reportKey, resultIn, resultKey, type ShardPlan, type ShardResult } from './document.js';
import { moved, type OpenedPart, openPlan, PlannedPart, type PartOptions, sharing, type Work } from './parts.js';
import type { Borders } from './shard.js';

/**
 * Opens the commit of a plan, for `runPipeline`: it reads what lies between the shards and after them, and publishes all.
 *
 * @param place The folder of the plan.
 * @throws {LeadstreamError} `E_SHARD_MISSING` unless all shards have succeeded; `E_SHARD_PLAN` if the plan is not for this pipeline.
 */
export async function openCommit(pipeline: Pipeline, place: string, options: PartOptions = {}): Promise<OpenedPart> {
  const { work, plan } = await openPlan(pipeline, place, options);
  const found: (ShardResult | undefined)[] = [];
  for (const index of plan.ranges.keys()) found.push(resultIn(await textAt(work.store, resultKey(index))));
  const results = found.filter((result) => result !== undefined);
  const missing = found.flatMap((result, index) => (result ? [] : [index]));
  if (missing.length > 0) throw new LeadstreamError('E_SHARD_MISSING', `${work.store.root}: no result yet of shard ${missing.join(', ')}`);
  const part = new Commit(pipeline, plan, work, results);
  return { pipeline: sharing(pipeline, plan, 1), part, close: () => work.close() };
}

/** Returns the report of a plan that was committed, or the run that has its files if its process was killed before it stored one. */
export async function committed(pipeline: Pipeline, place: string, options: PartOptions = {}): Promise<RunReport | string | undefined> {
  const { work, plan } = await openPlan(pipeline, place, options);
  const text = await textAt(work.store, reportKey);
  // Only a commit writes it.
  if (text !== '') return JSON.parse(text) as RunReport;
  const runs: (string | undefined)[] = [];
  for (const { output = '', config } of pipeline.plan.sinks) {
    const path = output.replaceAll(dayTemplate, plan.started_at.slice(0, 10));
    const kind = tableKinds.find((each) => each === getIn(config, ['table'])) ?? 'plain';
    // That of a catalog has no path.
    const isLinked = kind === 'plain' && !isRemote(path);
    const table = path === '' ? undefined : isLinked ? linkedTable(path) : storeTable(work.stores.at(path), kind);
    const version = await table?.format.load();
    runs.push(version && (await table?.needs(plan.run, version)) ? version.current?.run : undefined);
  }
  if (runs.includes(undefined)) return undefined;
  await removeSpent(work);
  return runs[0];
}

class Commit extends PlannedPart {
  /** Of the rows that the shards added, by shard. */
  readonly #files: DigestFile[] = [];
  /** Of the rows that this process adds. */
  readonly #added = new Set<bigint>();
  /** Position after the last row of the list. */
  #end = 0;

  constructor(
    pipeline: Pipeline,
    plan: ShardPlan,
    work: Work,
    private readonly results: readonly ShardResult[],
  ) {
    super(pipeline, plan, work, 'commit', randomInt(1_000_000_000));
    const { files } = this.table;
    for (const result of results) for (const [at, more] of result.files) files.set(at, [...(files.get(at) ?? []), ...more]);
  }

  /** The rows on the borders, and those of the tail; then what shows that all of them are the list. */
  pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: Ledger): Observable<Page> {
    const { results, work } = this;
    const opened$ = task(async () => {
      for (const { keys } of results) this.#files.push(await work.digestsOf(keys));
    });
    const borders = results.slice(1).map((_, index) => this.#border(index, options));
    return opened$.pipe(switchMap(() => concat(...borders, this.#front(reader, options), this.#tail(reader, options, ledger))));
  }

  /** Emits the rows around the first page of a shard, and its own, that neither it nor the shard before it has written. */
  #border(before: number, options: ReadingOptions): Observable<Page> {
    return task(async () => {
      const [{ after }, right] = [await this.#bordersOf(before), await this.#bordersOf(before + 1)];
      const files = this.#files.slice(before, before + 2);
      const batch = batchFromRows([...after, ...right.before, ...right.head]);
      const digests = this.digestsOf(batch);
      const [ofLeft, ofRight] = [digests.slice(0, after.length), digests.slice(after.length)];
      // A file has rejected rows of the head, too.
      const isShared = ofLeft.some((digest) => ofRight.includes(digest) || files[1]?.has(digest));
      if (!isShared && !ofRight.some((digest) => files[0]?.has(digest)))
        throw moved(`shards ${before} and ${before + 1} have no row in common`);
      const fresh = batch.filter((row) => this.#isNew(digests[row] ?? 0n, files));
      const page = pageOf(before + 1, fresh, { release: () => {} });
      options.onPage?.(page);
      return page;
    });
  }

  async #bordersOf(shard: number): Promise<Borders> {
    const { borders } = itemAt(this.results, shard);
    // Its digest is that of what the shard stored.
    return untagged(await readFile(await this.work.copyOf(borders), 'utf8')) as Borders;
  }

  /** Whether neither these shards nor this process has added a row, which it does now. */
  #isNew(digest: bigint, files: readonly DigestFile[]): boolean {
    if (this.#added.has(digest) || files.some((file) => file.has(digest))) return false;
    this.#added.add(digest);
    return true;
  }

  /** Reads the list from the last page of the last shard to its end, and judges what was read. */
  #tail(reader: CollectionReader<Row>, options: ReadingOptions, ledger: Ledger): Observable<Page> {
    const { consistency } = ledger;
    const { ranges, limit, anchor } = this.plan;
    consistency.mode = 'repair';
    const reading: ReadingOptions = {
      ...options,
      range: { from: (ranges.at(-1)?.to ?? 0) - limit },
      onRead: ({ position, digests }) => void (this.#end = Math.max(this.#end, position + digests.length)),
    };
    return this.#extreme(reader, reading, consistency, this.#files.slice(-1), (seen) => {
      if (!seen.has(BigInt(anchor))) throw moved('rows were deleted');
      return this.#judge(reader, ledger);
    });
  }

  /** Reads the first page again, to which rows may have moved. What comes there before the tail is read will be missing from the numbers. */
  #front(reader: CollectionReader<Row>, options: ReadingOptions): Observable<Page> {
    const reading: ReadingOptions = { ...options, range: { from: 0, to: this.plan.limit } };
    return this.#extreme(reader, reading, newConsistency(), this.#files, () => EMPTY);
  }

  /** Reads one end of the list, and emits the rows that the shard there does not have. @param files Of that shard first. */
  #extreme(
    reader: CollectionReader<Row>,
    options: ReadingOptions,
    consistency: Consistency,
    files: readonly DigestFile[],
    judge: (seen: ReadonlySet<bigint>) => Observable<never>,
  ): Observable<Page> {
    const seen = new Set<bigint>();
    const fresh = new Set<bigint>();
    const areFresh = (batch: RecordBatch) => this.digestsOf(batch).map((digest) => fresh.has(digest));
    const { onFault } = options;
    const reading: ReadingOptions = {
      ...options,
      onPage: (page) => {
        const kept = this.digestsOf(batchOf(page)).flatMap((digest, row) => {
          seen.add(digest);
          if (!this.#isNew(digest, files)) return [];
          fresh.add(digest);
          return [row];
        });
        if (kept.length > 0) options.onPage?.(withBatch(page, batchOf(page).keep(kept)));
      },
      onFault: onFault && ((row, fault) => areFresh(batchFromRows([row])).includes(true) && onFault(row, fault)),
    };
    const conclude = () => {
      if ([...seen].some((digest) => files[0]?.has(digest))) return judge(seen);
      throw moved('one of its ends has no row of the shard there');
    };
    return this.read(reader, reading, consistency, conclude).pipe(
      map((page) => {
        const kept = areFresh(batchOf(page));
        const rows = batchOf(page).filter((row) => kept[row] === true);
        return withBatch(page, rows);
      }),
    );
  }

  /** Compares what was read with the list: each row once, and as many as it has. */
  #judge({ collection }: CollectionReader<Row>, { consistency }: Ledger): Observable<never> {
    if (consistency.outcome !== 'stable') throw moved(consistency.drift[0] ?? `it was ${consistency.outcome}`);
    if (consistency.counted !== 'rows')
      throw new SourceError('E_SOURCE_ORDER', 'permanent', `${collection.name}: its rows cannot be counted; use leadstream run`);
    if (areRepeated(this.#files, [...this.#added])) throw moved('a row is in two of its parts');
    const rows = this.results.reduce((sum, result) => sum + result.rows, this.#added.size);
    if (rows === this.#end) return EMPTY;
    throw moved(`it has ${this.#end} rows by now, but ${rows} were read`);
  }

  /** Stores the report, and removes what a commit does not need any more. */
  async published(report: RunReport): Promise<void> {
    const { store } = this.work;
    await store.put(reportKey, `${JSON.stringify(report, undefined, 2)}\n`);
    // An attempt that comes late finds that it is.
    for (const [index, { attempt }] of this.results.entries()) await store.put(resultKey(index), JSON.stringify({ attempt }));
    await removeSpent(this.work);
  }

  /** Adds what the shards counted. */
  async gather(gathered: GatheredPart): Promise<void> {
    const { source } = gathered.ledger;
    const { rejects } = gathered;
    for (const [index, result] of this.results.entries()) {
      source.pages += result.pages;
      source.rows += result.rows;
      source.findings.add(result.findings);
      countsOf(gathered).forEach((counts, at) => addTo(counts, itemAt(result.counts, at)));
      if (result.rejects === 0) continue;
      const text = await textAt(this.work.store, `parts/${index}-${result.attempt}.rejects.ndjson`);
      const lines = text.split('\n').filter((line) => line !== '');
      await rejects.adopt(lines);
      if (lines.length !== result.rejects) throw new LeadstreamError('E_SHARD_PLAN', `the rejects of shard ${index} are missing`);
    }
  }
}

/** Removes all but the results. */
async function removeSpent({ store }: Work): Promise<void> {
  const keys = await keysBelow(store, ['parts/', 'sides/']);
  await store.remove(keys.filter((key) => !/^parts\/\d+\.json$/.test(key)));
}

function addTo(counts: object, more: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(more)) Object.assign(counts, { [name]: Number(getIn(counts, [name])) + count });
}
