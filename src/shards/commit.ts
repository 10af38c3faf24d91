import { concat, defer, EMPTY, ignoreElements, map, of, type Observable, switchMap } from 'rxjs';
import { readFile } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { LeadstreamError, type Row, SourceError } from '../core/index.js';
import { batchOf, type Page, pageOf, task, withBatch } from '../flow/index.js';
import { linkedTable, storeTable, tableKinds } from '../lake/index.js';
import { getIn } from '../options/index.js';
import type { Pipeline } from '../plan/index.js';
import { type GatheredPart, type PartCounts, type RunPart, type RunReport } from '../run/index.js';
import { type CollectionReader, namesOf, type ReadingOptions, readPages } from '../source/index.js';
import { dayTemplate, isRemote, Stores } from '../store/index.js';
import { batchFromRows } from '../vector/index.js';
import { areRepeated, DigestFile, digester } from './digests.js';
import { reportKey, resultIn, resultKey, type ShardPlan, type ShardResult, spent } from './document.js';
import { openPlan, partOf, type PartOptions, sharing } from './parts.js';
import type { Borders } from './shard.js';
import { untagged, type Work } from './work.js';

/** What `runPipeline` needs to commit a plan. */
export interface OpenedCommit {
  readonly pipeline: Pipeline;
  readonly part: RunPart;
  /** Releases what was opened; called after the run. */
  close(): Promise<void>;
}

/**
 * Opens the commit of a plan, for `runPipeline`: it reads what lies between the shards and after them, and publishes all.
 *
 * @param place The folder of the plan.
 * @throws {LeadstreamError} `E_SHARD_MISSING` unless all shards have succeeded; `E_SHARD_PLAN` if the plan is not for this pipeline.
 */
export async function openCommit(pipeline: Pipeline, place: string, options: PartOptions = {}): Promise<OpenedCommit> {
  const { work, plan } = await openPlan(pipeline, place, options);
  const files: DigestFile[] = [];
  const close = async () => {
    for (const file of files) file.close();
    await work.close();
  };
  try {
    const results: ShardResult[] = [];
    const missing: number[] = [];
    for (const index of plan.ranges.keys()) {
      const result = resultIn(await work.text(resultKey(index)));
      if (result) results.push(result);
      else missing.push(index);
    }
    if (missing.length > 0)
      throw new LeadstreamError('E_SHARD_MISSING', `${work.store.root}: no result yet of shard ${missing.join(', ')}`);
    for (const { keys } of results) files.push(new DigestFile(await work.copyOf(keys)));
    const { part } = new Commit(pipeline, plan, work, results, files);
    return { pipeline: sharing(pipeline, plan, 1), part, close };
  } catch (failure) {
    await close();
    throw failure;
  }
}

/** Returns the report of a plan that was committed, or the run that has its files if its process was killed before it stored one. */
export async function committed(pipeline: Pipeline, place: string, options: PartOptions = {}): Promise<RunReport | string | undefined> {
  const { work, plan } = await openPlan(pipeline, place, options);
  try {
    const text = await work.text(reportKey);
    // Only a commit writes it.
    if (text !== undefined) return JSON.parse(text) as RunReport;
    const stores = new Stores(pipeline.store, options.signal);
    const runs: (string | undefined)[] = [];
    for (const { output = '', config } of pipeline.plan.sinks) {
      const path = output.replaceAll(dayTemplate, plan.started_at.slice(0, 10));
      const kind = tableKinds.find((each) => each === getIn(config, ['table'])) ?? 'plain';
      // That of a catalog has no path.
      const isLinked = kind === 'plain' && !isRemote(path);
      const table = path === '' ? undefined : isLinked ? linkedTable(path) : storeTable(stores.at(path), kind);
      const version = await table?.format.load();
      runs.push(version && (await table?.needs(plan.run, version)) ? version.current?.run : undefined);
    }
    return runs.every((run) => run !== undefined) ? runs[0] : undefined;
  } finally {
    await work.close();
  }
}

class Commit {
  readonly part: RunPart;
  readonly #digest: (name: string) => bigint;
  /** Digests of the rows that this process adds. */
  readonly #added = new Set<bigint>();
  /** Position after the last row of the list. */
  #end = 0;

  constructor(
    pipeline: Pipeline,
    private readonly plan: ShardPlan,
    private readonly work: Work,
    private readonly results: readonly ShardResult[],
    private readonly files: readonly DigestFile[],
  ) {
    this.#digest = digester(plan.run);
    this.part = {
      ...partOf(pipeline, plan, work, 'commit', randomInt(1_000_000_000)),
      pages: (reader, options, ledger) => this.#pages(reader, options, ledger),
      gather: (part) => this.#gather(part),
      published: (report) => this.#published(report),
    };
    for (const { sinks } of results)
      for (const { at, files: more } of sinks) this.part.table.files.set(at, [...(this.part.table.files.get(at) ?? []), ...more]);
  }

  /** The rows on the borders, and those of the tail; then what shows that all of them are the list. */
  #pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: PartCounts): Observable<Page> {
    const { key } = reader.collection;
    const borders = this.results.slice(1).map((_, index) => this.#border(index, key, options));
    return concat(
      ...borders,
      this.#tail(reader, options, ledger),
      defer(() => this.#judge(reader, ledger)),
    );
  }

  /** Emits the rows around the first page of a shard, and its own, that neither it nor the shard before it has written. */
  #border(before: number, key: readonly string[], options: ReadingOptions): Observable<Page> {
    return task(async () => {
      const [left, right] = [await this.#bordersOf(before), await this.#bordersOf(before + 1)];
      const [one, other] = [this.files[before], this.files[before + 1]];
      const batch = batchFromRows([...right.before, ...left.after, ...right.head]);
      const digests = namesOf(batch, key).map(this.#digest);
      const ofRight = new Set([...digests.slice(0, right.before.length), ...digests.slice(right.before.length + left.after.length)]);
      const areAdjacent = digests.some((digest, row) => {
        const isLeft = row >= right.before.length && row < right.before.length + left.after.length;
        return isLeft ? ofRight.has(digest) || other?.has(digest) : one?.has(digest);
      });
      if (!areAdjacent) throw moved(`shards ${before} and ${before + 1} have no row in common`);
      const fresh = batch.filter((row) => {
        const digest = digests[row] ?? 0n;
        return !one?.has(digest) && !other?.has(digest) && this.#isNew(digest);
      });
      const page = pageOf(before + 1, fresh, { release: () => {} });
      options.onPage?.(page);
      return page;
    });
  }

  async #bordersOf(shard: number): Promise<Borders> {
    const result = this.results[shard];
    if (!result) throw new Error('a border is between two shards');
    // Its digest is that of what the shard stored.
    return untagged(await readFile(await this.work.copyOf(result.borders), 'utf8')) as Borders;
  }

  #isNew(digest: bigint): boolean {
    const isNew = !this.#added.has(digest);
    this.#added.add(digest);
    return isNew;
  }

  /** Reads the list from the last page of the last shard to its end. */
  #tail(reader: CollectionReader<Row>, options: ReadingOptions, ledger: PartCounts): Observable<Page> {
    const { key } = reader.collection;
    const last = this.files.at(-1);
    const from = (this.plan.ranges.at(-1)?.to ?? 0) - this.plan.limit;
    const fresh = new Set<bigint>();
    let isShared = false;
    const digestsOf = (page: Page) => namesOf(batchOf(page), key).map(this.#digest);
    ledger.consistency.mode = 'repair';
    const { onFault } = options;
    const reading: ReadingOptions = {
      ...options,
      range: { from },
      onRead: ({ position, digests }) => void (this.#end = Math.max(this.#end, position + digests.length)),
      onPage: (page) => {
        const kept = digestsOf(page).flatMap((digest, row) => {
          const isKnown = last?.has(digest) === true;
          isShared ||= isKnown;
          if (isKnown || !this.#isNew(digest)) return [];
          fresh.add(digest);
          return [row];
        });
        if (kept.length > 0) options.onPage?.(withBatch(page, batchOf(page).keep(kept)));
      },
      ...(onFault && {
        onFault: (row, fault) => namesOf(batchFromRows([row]), key).some((name) => fresh.has(this.#digest(name))) && onFault(row, fault),
      }),
    };
    const tail$ = readPages(reader, reading, ledger.consistency).pipe(
      map((page) => {
        const digests = digestsOf(page);
        return withBatch(
          page,
          batchOf(page).filter((row) => fresh.has(digests[row] ?? 0n)),
        );
      }),
    );
    return concat(
      tail$,
      defer(() => {
        if (!isShared) throw moved('its end and the last shard have no row in common');
        return EMPTY;
      }),
    );
  }

  /** Compares what was read with the list: each row once, and as many as it has from the first one on. */
  #judge(reader: CollectionReader<Row>, ledger: PartCounts): Observable<never> {
    const { consistency } = ledger;
    const { name, key } = reader.collection;
    const { limit, first_page: page } = this.plan;
    if (consistency.outcome !== 'stable') throw moved(consistency.drift[0] ?? `it was ${consistency.outcome}`);
    if (consistency.counted !== 'rows')
      throw new SourceError('E_SOURCE_ORDER', 'permanent', `${name}: its rows cannot be counted; use leadstream run`);
    if (areRepeated(this.files, BigUint64Array.from(this.#added))) throw moved('a row is in two of its parts');
    const first = this.results[0]?.first;
    return reader.request({ page, limit, purpose: 'probe' }).pipe(
      switchMap(({ batch }) => {
        const before = namesOf(batch, key).findIndex((each) => this.#digest(each) === first);
        if (before < 0) throw moved('its first page has other rows');
        const rows = this.results.reduce((sum, result) => sum + result.rows, this.#added.size);
        if (rows + before !== this.#end)
          throw moved(`it has ${this.#end} rows by now, of which ${rows} were read and ${before} came before them`);
        return of(undefined);
      }),
      ignoreElements(),
    );
  }

  /** Stores the report, and removes what a commit does not need any more. */
  async #published(report: RunReport): Promise<void> {
    const { store } = this.work;
    await store.put(reportKey, `${JSON.stringify(report, undefined, 2)}\n`);
    for (const [index, result] of this.results.entries()) await store.put(resultKey(index), spent(result));
    const keys: string[] = [];
    for (const prefix of ['parts/', 'sides/']) for await (const { key } of store.list(prefix)) keys.push(key);
    await store.remove(keys.filter((key) => !/^parts\/\d+\.json$/.test(key)));
  }

  /** Adds what the shards counted. */
  async #gather({ ledger, expectations, outputs, rejects }: GatheredPart): Promise<void> {
    for (const [index, result] of this.results.entries()) {
      ledger.source.pages += result.pages;
      ledger.source.rows += result.rows;
      Object.assign(ledger.source.tally, sumOf(ledger.source.tally, result.tally));
      ledger.steps.forEach(({ tally }, step) => Object.assign(tally, sumOf(tally, result.steps[step])));
      ledger.lookups.forEach(({ counts }, lookup) => Object.assign(counts, sumOf(counts, result.lookups[lookup])));
      ledger.source.findings.add(result.findings);
      for (const { at, counts } of outputs) Object.assign(counts, sumOf(counts, result.sinks.find((sink) => sink.at === at)?.counts));
      for (const [at, counts] of result.expectations) expectations.get(at ?? undefined)?.add(counts);
      if (result.rejects === 0) continue;
      const text = await this.work.text(`parts/${index}-${result.attempt}.rejects.ndjson`);
      await rejects.adopt((text ?? '').split('\n').filter((line) => line !== ''));
      if (rejects.count < result.rejects) throw new LeadstreamError('E_SHARD_PLAN', `the rejects of shard ${index} are missing`);
    }
  }
}

function moved(why: string): LeadstreamError {
  return new LeadstreamError('E_SHARD_MOVED', `the list moved while it was read: ${why}`);
}

function sumOf(counts: object, more: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count) + (more[name] ?? 0)]));
}
