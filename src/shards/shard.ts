import { randomInt } from 'node:crypto';
import { concat, defer, EMPTY, filter, type Observable } from 'rxjs';
import { LeadstreamError, reasonOf, type Row } from '../core/index.js';
import { batchOf, type Page } from '../flow/index.js';
import type { Pipeline } from '../plan/index.js';
import type { GatheredPart, PartCounts, RunPart } from '../run/index.js';
import { type CollectionReader, namesOf, type ReadingOptions, readPages } from '../source/index.js';
import { writeOnce } from '../store/index.js';
import { bytesOf, digester } from './digests.js';
import { attemptIn, resultKey, type ShardPlan, type ShardResult } from './document.js';
import { openPlan, partOf, type PartOptions, sharing } from './parts.js';
import { tagged, type Work } from './work.js';

/** The rows of the pages around a range, which the commit compares with those of its neighbours. */
export interface Borders {
  /** Of the page before the range, its first one, and the one after it, as the service gave them. */
  readonly before: Row[];
  readonly head: Row[];
  readonly after: Row[];
}

/** What `runPipeline` needs to run a shard. */
export interface OpenedShard {
  readonly pipeline: Pipeline;
  readonly part: RunPart;
  /** Releases what was opened; called after the run. */
  close(): Promise<void>;
}

/**
 * Opens a shard, for `runPipeline`, which then stores its files and its result, and publishes nothing.
 *
 * @param place The folder of the plan. @param index From 0.
 * @returns `undefined` if an attempt at it has succeeded, or there is nothing to do since the list is short.
 * @throws {LeadstreamError} `E_SHARD_PLAN` if the plan has no such shard, or is not for this pipeline.
 */
export async function openShard(
  pipeline: Pipeline,
  place: string,
  index: number,
  options: PartOptions = {},
): Promise<OpenedShard | undefined> {
  const { work, plan } = await openPlan(pipeline, place, options);
  if (index >= plan.shards) {
    await work.close();
    throw new LeadstreamError('E_SHARD_PLAN', `${work.store.root} has shards 0 to ${plan.shards - 1}, and no ${index}`);
  }
  if (index >= plan.ranges.length || attemptIn(await work.text(resultKey(index))) !== undefined) {
    await work.close();
    return undefined;
  }
  const shard = new Shard(pipeline, plan, index, work);
  return { pipeline: sharing(pipeline, plan), part: shard.part, close: () => work.close() };
}

class Shard {
  readonly part: RunPart;
  readonly #attempt = randomInt(1_000_000_000, 10_000_000_000);
  readonly #digest: (name: string) => bigint;
  readonly #borders: Borders = { before: [], head: [], after: [] };
  readonly #digests: BigUint64Array;
  #rows = 0;
  #first: bigint | undefined;
  /** Pages that were read, by number: where they are in the list. */
  readonly #zones = new Map<number, keyof Borders | 'body'>();
  #isMoved = false;

  constructor(
    pipeline: Pipeline,
    private readonly plan: ShardPlan,
    private readonly index: number,
    private readonly work: Work,
  ) {
    const { from, to } = this.#range;
    this.#digest = digester(plan.run);
    this.#digests = new BigUint64Array(to - from);
    this.part = {
      ...partOf(pipeline, plan, work, 'shard', this.#attempt),
      rejects: `${work.store.root}/${this.#name}.rejects.ndjson`,
      pages: (reader, options, ledger) => this.#pages(reader, options, ledger),
      deliver: (part) => this.#deliver(part),
    };
  }

  get #range(): ShardPlan['ranges'][number] {
    const range = this.plan.ranges[this.index];
    if (!range) throw new Error('the index was checked');
    return range;
  }

  get #name(): string {
    return `parts/${this.index}-${this.#attempt}`;
  }

  /** Reads the range and a page on each side. Only its rows that are not on a border are written here. */
  #pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: PartCounts): Observable<Page> {
    const { limit } = this.plan;
    const { from, to } = this.#range;
    const { key } = reader.collection;
    const names = new Map<number, readonly string[]>();
    ledger.consistency.mode = 'check';
    const reading: ReadingOptions = {
      ...options,
      ...{ lookAgain: false, range: { from: Math.max(0, from - limit), to: to + limit, checked: true } },
      onRead: ({ number, position, digests }) => {
        this.#zones.set(number, position < from ? 'before' : position >= to ? 'after' : position === from && from > 0 ? 'head' : 'body');
        this.#isMoved ||= digests.length !== limit;
      },
      onPage: (page) => {
        const found = namesOf(batchOf(page), key);
        const zone = this.#zones.get(page.number);
        if (zone === 'head') names.set(page.number, found);
        if (zone !== 'body') return;
        for (const name of found) this.#add(name);
        options.onPage?.(page);
      },
    };
    const { onFault } = options;
    const faults: Pick<ReadingOptions, 'onFault'> = onFault
      ? {
          onFault: (row, fault) => {
            const zone = this.#zones.get(fault.page ?? 0);
            // The neighbour counts what is wrong there.
            if (zone === 'before' || zone === 'after') return false;
            const isKept = onFault(row, fault);
            const name = names.get(fault.page ?? 0)?.[fault.index ?? 0];
            if (zone !== 'head' || isKept || name === undefined) return isKept;
            this.#add(name);
            ledger.source.rows += 1;
            return false;
          },
        }
      : {};
    const body$ = readPages(reader, { ...reading, ...faults }, ledger.consistency).pipe(
      filter((page) => {
        const zone = this.#zones.get(page.number);
        if (zone === undefined || zone === 'body') return true;
        this.#borders[zone].push(...batchOf(page).rows());
        page.lease.release();
        return false;
      }),
    );
    return concat(
      body$,
      defer(() => {
        const { outcome, duplicates, drift } = ledger.consistency;
        const pages = (to - Math.max(0, from - limit)) / limit + 1;
        if (outcome === 'stable' && duplicates === 0 && !this.#isMoved && this.#zones.size === pages) return EMPTY;
        const why = drift[0] ?? `its pages do not have ${limit} rows each`;
        throw new LeadstreamError('E_SHARD_MOVED', `shard ${this.index}: the list moved while it was read: ${why}`);
      }),
    );
  }

  #add(name: string): void {
    const digest = this.#digest(name);
    if (this.#rows === 0) this.#first = digest;
    this.#digests[this.#rows] = digest;
    this.#rows += 1;
  }

  /** Stores the result, unless another attempt has. */
  async #deliver({ ledger, expectations, outputs, rejects }: GatheredPart): Promise<void> {
    const { table } = this.part;
    const { store } = this.work;
    await rejects.close();
    const { source } = ledger;
    const { findings } = source;
    const result: ShardResult = {
      ...{ version: 1, attempt: this.#attempt, pages: source.pages, rows: source.rows, tally: source.tally },
      steps: ledger.steps.map(({ tally }) => tally),
      sinks: outputs.map(({ at, counts }) => ({ at, counts, files: [...(table.files.get(at) ?? [])] })),
      expectations: [...expectations].map(([at, each]) => [at ?? null, [...each.counts]]),
      findings: {
        unknown: Object.fromEntries([...findings.unknown].map(([field, { rows }]) => [field, rows])),
        missing: Object.fromEntries(findings.missing),
        present: Object.fromEntries([...findings.present].map((name) => [name, 1])),
        notText: Object.fromEntries(findings.notText),
      },
      lookups: ledger.lookups.map(({ counts }) => ({ ...counts })),
      first: this.#first,
      keys: await this.work.add(`${this.#name}.keys.bin`, (file) => file.append(bytesOf(this.#digests.subarray(0, this.#rows)))),
      borders: await this.work.add(`${this.#name}.borders.json`, (file) => file.append(tagged(this.#borders))),
      rejects: rejects.count,
    };
    // Whoever removed the plan, or committed it, also removed what is here.
    const isOver = (await this.work.store.find('plan.json')) === undefined;
    if (isOver) throw new LeadstreamError('E_SHARD_PLAN', `${store.root} was removed while shard ${this.index} ran`);
    table.isKept = true;
    const version = await writeOnce(store, resultKey(this.index), tagged(result)).catch((failure: unknown) => {
      // Its files stay, since the result may be there, or come late.
      throw new LeadstreamError('E_SHARD_MISSING', `shard ${this.index}: ${reasonOf(failure)}`);
    });
    if (version !== undefined) return;
    table.isKept = false;
    await store.remove(['.keys.bin', '.borders.json', '.rejects.ndjson'].map((ending) => this.#name + ending));
  }
}
