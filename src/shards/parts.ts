import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { catchError, defer, map, type Observable, switchMap } from 'rxjs';
import { LeadstreamError, type Row } from '../core/index.js';
import { type Page, pageOf } from '../flow/index.js';
import { untagged } from '../json/index.js';
import { textAt } from '../lake/index.js';
import { getIn } from '../options/index.js';
import type { Pipeline } from '../plan/index.js';
import { type Ledger, type RunOptions, type RunPart, StateFolder } from '../run/index.js';
import { type CollectionReader, type ReadingOptions, readPages } from '../source/index.js';
import { fixedPlace, jsonIn, type ObjectStore, PartialFile, ScratchFile, ScratchFolder, sha256File, Stores } from '../store/index.js';
import { batchFromRows, type RecordBatch } from '../vector/index.js';
import { DigestFile, digesting } from './digests.js';
import { identityOf, planKey, planShape, type ShardPlan, type StoredPart } from './document.js';

/** The options of all processes of a run. */
export type PartOptions = Pick<RunOptions, 'signal' | 'stateDir'>;

/** The folder of a plan, on a store or of machines that share it, and a private folder of this machine. */
export class Work {
  #scratch: Promise<ScratchFolder> | undefined;
  readonly #files: ScratchFile[] = [];

  private constructor(
    readonly stores: Stores,
    readonly store: ObjectStore,
    private readonly state: StateFolder,
  ) {}

  /** @param place Where the plan is. */
  static async open({ store: settings, baseDir }: Pipeline, place: string, { signal, stateDir }: PartOptions): Promise<Work> {
    const stores = new Stores(settings, signal);
    const store = stores.at(fixedPlace(place, '--work', baseDir));
    await stores.check(store);
    return new Work(stores, store, new StateFolder(stateDir, baseDir));
  }

  /** Stores what is appended, under a name that is new. */
  async add(key: string, write: (file: PartialFile) => Promise<unknown>): Promise<StoredPart> {
    const path = await this.#pathOf(key);
    const file = await PartialFile.open(path, path);
    await write(file);
    await file.close();
    await this.store.upload(key, { path, ...file.content });
    await file.discard();
    return { key, ...file.content };
  }

  /** Returns the path of a copy. @throws {LeadstreamError} `E_SHARD_PLAN` if it is not what was stored. */
  async copyOf({ key, sha256 }: StoredPart): Promise<string> {
    const path = await this.#pathOf(key);
    await this.store.download(key, path);
    if ((await sha256File(path)) === sha256) return path;
    throw new LeadstreamError('E_SHARD_PLAN', `${this.store.root}/${key} is not what was stored there`);
  }

  /** Returns a copy of digests, which is closed with this folder. */
  async digestsOf(stored: StoredPart): Promise<DigestFile> {
    const file = await ScratchFile.reading(await this.copyOf(stored));
    this.#files.push(file);
    return new DigestFile(file, stored.bytes / 8);
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
    await (await this.#scratch)?.remove();
  }

  async #pathOf(key: string): Promise<string> {
    this.#scratch ??= ScratchFolder.open(this.state.folder('scratch'));
    return join((await this.#scratch).path, key.replaceAll('/', '-'));
  }
}

/** What `runPipeline` needs to run a shard, or the commit of all. */
export interface OpenedPart {
  readonly pipeline: Pipeline;
  readonly part: RunPart;
  /** Releases what was opened; called after the run. */
  close(): Promise<void>;
}

/** Opens the folder of a plan. @throws {LeadstreamError} `E_SHARD_PLAN` if there is none, or if it was made for something else. */
export async function openPlan(pipeline: Pipeline, place: string, options: PartOptions) {
  const work = await Work.open(pipeline, place, options);
  const { root } = work.store;
  const { data: plan } = planShape().safeParse(jsonIn(await textAt(work.store, planKey)));
  if (!plan) throw new LeadstreamError('E_SHARD_PLAN', `${root} has no plan of this version of leadstream; it may have been removed`);
  const other = Object.entries(identityOf(pipeline)).find(([what, value]) => plan.of[what] !== value);
  if (other) throw new LeadstreamError('E_SHARD_PLAN', `${root} was planned with another ${other[0]}`);
  return { work, plan };
}

/** What shards and commits have in common. */
export abstract class PlannedPart implements RunPart {
  readonly table: RunPart['table'];
  readonly startedAt: string;
  readonly undeclared: ShardPlan['undeclared'];
  protected readonly digestsOf: (batch: RecordBatch) => readonly bigint[];

  /** @param attempt Ten digits, so that no two attempts write the same file. */
  constructor(
    pipeline: Pipeline,
    protected readonly plan: ShardPlan,
    protected readonly work: Work,
    role: 'shard' | 'commit',
    attempt: number,
  ) {
    const bases = new Map(Object.entries(plan.bases));
    this.table = { role, run: plan.run, bases, files: new Map(), first: attempt * 100_000, isKept: false };
    this.startedAt = plan.started_at;
    this.undeclared = plan.undeclared;
    this.digestsOf = digesting(pipeline, plan);
  }

  abstract pages(reader: CollectionReader<Row>, options: ReadingOptions, ledger: Ledger): Observable<Page>;

  protected read(...given: Parameters<typeof readPages<Row>>): Observable<Page> {
    return readPages(...given).pipe(
      catchError((failure: unknown) => {
        throw getIn(failure, ['code']) === 'E_SOURCE_RANGE' ? moved('it is shorter than its plan says') : failure;
      }),
    );
  }

  side(count: Ledger['sides'][number]): Observable<Page> {
    const planned = this.plan.sides.find(({ at }) => at === count.at);
    if (!planned) throw new LeadstreamError('E_SHARD_PLAN', `the plan has no rows for ${count.at}`);
    count.rows = planned.rows;
    Object.assign(count.consistency, planned.consistency);
    return defer(() => this.work.copyOf(planned.stored)).pipe(
      switchMap((path) => createInterface({ input: createReadStream(path) })),
      // Each line was the rows of a page.
      map((line, index) => pageOf(index + 1, batchFromRows(untagged(line) as readonly Row[]), { release: () => {} })),
    );
  }
}

/** A pipeline that reads pages as the plan did, and a part of its rate and concurrency. */
export function sharing(pipeline: Pipeline, { limit, first_page: firstPage, parallel }: ShardPlan, of = parallel): Pipeline {
  const { connection } = pipeline;
  const { ratePerSecond, concurrency = 4 } = connection;
  const shared = { concurrency: Math.max(1, Math.floor(concurrency / of)), ...(ratePerSecond && { ratePerSecond: ratePerSecond / of }) };
  return { ...pipeline, connection: { ...connection, limit, firstPage, ...shared } };
}

export function moved(why: string, whose = ''): LeadstreamError {
  return new LeadstreamError('E_SHARD_MOVED', `${whose}the list moved while it was read: ${why}`);
}
