import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { catchError, defer, map, type Observable, switchMap } from 'rxjs';
import { LeadstreamError, type Row } from '../core/index.js';
import { type Page, pageOf } from '../flow/index.js';
import { untagged } from '../json/index.js';
import { textAt } from '../lake/index.js';
import { getIn } from '../options/index.js';
import type { Pipeline } from '../plan/index.js';
import type { Ledger, RunPart } from '../run/index.js';
import { type CollectionReader, type ReadingOptions, readPages } from '../source/index.js';
import { jsonIn } from '../store/index.js';
import { batchFromRows, type RecordBatch } from '../vector/index.js';
import { digesting } from './digests.js';
import { identityOf, planKey, planShape, type ShardPlan } from './document.js';
import { type PartOptions, Work } from './work.js';

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
