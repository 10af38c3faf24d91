import { randomInt } from 'node:crypto';
import { EMPTY, filter, type Observable } from 'rxjs';
import { LeadstreamError, reasonOf, type Row } from '../core/index.js';
import { batchOf, type Page } from '../flow/index.js';
import { tagged } from '../json/index.js';
import type { Pipeline } from '../plan/index.js';
import { countsOf, type GatheredPart, type Ledger } from '../run/index.js';
import { type CollectionReader, type ReadingOptions } from '../source/index.js';
import { writeOnce } from '../store/index.js';
import { batchFromRows, type RecordBatch } from '../vector/index.js';
import { planKey, resultKey, type ShardPlan, type ShardResult } from './document.js';
import { moved, type OpenedPart, openPlan, PlannedPart, type PartOptions, sharing, type Work } from './parts.js';

/** The rows of the pages around a range, which the commit compares with those of its neighbours. */
export interface Borders {
  /** Of the page before the range, its first one, and the one after it, as the service gave them. */
  readonly before: Row[];
  readonly head: Row[];
  readonly after: Row[];
}

/**
 * Opens a shard, for `runPipeline`, which then stores its files and its result, and publishes nothing.
 *
 * @param place The folder of the plan. @param index From 0.
 * @returns `undefined` if an attempt at it has succeeded, or there is nothing to do since the list is short.
 * @throws {LeadstreamError} `E_SHARD_PLAN` if the plan has no such shard, or is not for this pipeline.
 */
export async function openShard(pipeline: Pipeline, place: string, index: number, options: PartOptions): Promise<OpenedPart | undefined> {
  const { work, plan } = await openPlan(pipeline, place, options);
  if (index >= plan.shards)
    throw new LeadstreamError('E_SHARD_PLAN', `${work.store.root} has shards 0 to ${plan.shards - 1}, and no ${index}`);
  const range = plan.ranges[index];
  if (!range || (await work.store.find(resultKey(index))) !== undefined) return undefined;
  const part = new Shard(pipeline, plan, work, index, range);
  return { pipeline: sharing(pipeline, plan), part, close: () => work.close() };
}

class Shard extends PlannedPart {
  readonly rejects: string;
  readonly #name: string;
  readonly #borders: Borders = { before: [], head: [], after: [] };
  /** Of the rows of its range, except those of the head that the commit takes. */
  readonly #digests: BigUint64Array;
  #rows = 0;
  /** Pages on a border, by number. */
  readonly #zones = new Map<number, keyof Borders>();
  #read = 0;

  constructor(
    pipeline: Pipeline,
    plan: ShardPlan,
    work: Work,
    private readonly index: number,
    private readonly range: ShardPlan['ranges'][number],
    private readonly attempt = randomInt(1_000_000_000, 10_000_000_000),
  ) {
    super(pipeline, plan, work, 'shard', attempt);
    this.#name = `parts/${index}-${attempt}`;
    this.rejects = `${work.store.root}/${this.#name}.rejects.ndjson`;
    this.#digests = new BigUint64Array(range.to - range.from);
  }

  /** Reads the range and a page on each side. Only its rows that are not on a border are written here. */
  pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: Ledger): Observable<Page> {
    const { limit } = this.plan;
    const { from, to } = this.range;
    const { onFault } = options;
    ledger.consistency.mode = 'check';
    const reading: ReadingOptions = {
      ...options,
      ...{ lookAgain: false, range: { from: Math.max(0, from - limit), to: to + limit, checked: true } },
      onRead: ({ number, position, digests }) => {
        const zone = position < from ? 'before' : position >= to ? 'after' : position === from && from > 0 ? 'head' : undefined;
        if (zone) this.#zones.set(number, zone);
        this.#read += digests.length;
      },
      onPage: (page) => {
        if (this.#zones.has(page.number)) return;
        this.#add(batchOf(page));
        options.onPage?.(page);
      },
      onFault:
        onFault &&
        ((row, fault) => {
          const zone = this.#zones.get(fault.page ?? 0);
          // The neighbour counts what is wrong there.
          if (zone === 'before' || zone === 'after') return false;
          const isKept = onFault(row, fault);
          if (zone === 'head' && !isKept) {
            this.#add(batchFromRows([row]));
            ledger.source.rows += 1;
          }
          return isKept;
        }),
    };
    return this.read(reader, reading, ledger.consistency, () => this.#judge(ledger)).pipe(
      filter((page) => {
        const zone = this.#zones.get(page.number);
        if (!zone) return true;
        this.#borders[zone].push(...batchOf(page).rows());
        page.lease.release();
        return false;
      }),
    );
  }

  #judge({ consistency: { outcome, duplicates, drift } }: Ledger): Observable<never> {
    const { limit } = this.plan;
    const { from, to } = this.range;
    const pages = (to - Math.max(0, from - limit)) / limit + 1;
    if (outcome === 'stable' && duplicates === 0 && this.#read === pages * limit) return EMPTY;
    throw moved(drift[0] ?? `its pages do not have ${limit} rows each, as for the plan`, `shard ${this.index}: `);
  }

  #add(batch: RecordBatch): void {
    const digests = this.digestsOf(batch);
    if (this.#rows + digests.length > this.#digests.length) throw moved('rows came twice', `shard ${this.index}: `);
    this.#digests.set(digests, this.#rows);
    this.#rows += digests.length;
  }

  /** Stores the result, unless another attempt has. */
  async deliver(gathered: GatheredPart): Promise<void> {
    const { table, work, attempt } = this;
    const { store } = work;
    const { rejects, ledger } = gathered;
    const { source } = ledger;
    await rejects.close();
    const digests = this.#digests.subarray(0, this.#rows);
    const sorted = new Uint8Array(digests.toSorted().buffer);
    const result: ShardResult = {
      ...{ attempt, pages: source.pages, rows: source.rows, files: table.files },
      counts: countsOf(gathered).map((counts) => ({ ...counts })),
      findings: { ...source.findings.counts, present: [...source.findings.present] },
      keys: await work.add(`${this.#name}.keys.bin`, (file) => file.append(sorted)),
      borders: await work.add(`${this.#name}.borders.json`, (file) => file.append(tagged(this.#borders))),
      rejects: rejects.count,
    };
    const removed = () => store.remove(['.keys.bin', '.borders.json', '.rejects.ndjson'].map((ending) => this.#name + ending));
    if ((await store.find(planKey)) === undefined) {
      await removed();
      throw new LeadstreamError('E_SHARD_PLAN', `${store.root} was removed while shard ${this.index} ran`);
    }
    table.isKept = true;
    const version = await writeOnce(store, resultKey(this.index), tagged(result)).catch((failure: unknown) => {
      // Its files stay, since the result may be there, or come late.
      throw new LeadstreamError('E_SHARD_MISSING', `shard ${this.index}: ${reasonOf(failure)}`);
    });
    if (version !== undefined) return;
    table.isKept = false;
    await removed();
  }
}
