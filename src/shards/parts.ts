import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { defer, from, map, switchMap } from 'rxjs';
import { type Consistency, LeadstreamError, type Row } from '../core/index.js';
import { pageOf } from '../flow/index.js';
import type { Pipeline } from '../plan/index.js';
import { type RunOptions, type RunPart, StateFolder } from '../run/index.js';
import { Findings } from '../source/index.js';
import { batchFromRows } from '../vector/index.js';
import { planFor, planKey, type ShardPlan } from './document.js';
import { untagged, Work } from './work.js';

/** The options of a shard and of a commit. */
export type PartOptions = Pick<RunOptions, 'signal' | 'stateDir'>;

/** Opens the folder of a plan. @throws {LeadstreamError} `E_SHARD_PLAN` if it is not for this pipeline. */
export async function openPlan(pipeline: Pipeline, place: string, { signal, stateDir }: PartOptions) {
  const scratch = new StateFolder(stateDir, pipeline.baseDir).folder('scratch');
  const work = await Work.open(pipeline, place, scratch, signal);
  try {
    const plan = await planFor(pipeline, { store: work.store, text: await work.text(planKey) });
    return { work, plan };
  } catch (failure) {
    await work.close();
    throw failure;
  }
}

/** Returns what shards and commits have in common. @param attempt Ten digits, so that no two attempts write the same file. */
export function partOf(pipeline: Pipeline, plan: ShardPlan, work: Work, role: 'shard' | 'commit', attempt: number) {
  const { run, started_at: startedAt, undeclared, bases } = plan;
  const table: RunPart['table'] = {
    role,
    run,
    bases: new Map(Object.entries(bases)),
    files: new Map(),
    first: attempt * 100_000,
    isKept: false,
  };
  return { table, startedAt, undeclared, side: sidesOf(pipeline, plan, work) };
}

/** A pipeline that reads pages as the plan did, and a part of its rate and concurrency. */
export function sharing(pipeline: Pipeline, { limit, first_page: firstPage, parallel }: ShardPlan, of = parallel): Pipeline {
  const { connection } = pipeline;
  const { ratePerSecond, concurrency = 4 } = connection;
  const shared = { concurrency: Math.max(1, Math.floor(concurrency / of)), ...(ratePerSecond && { ratePerSecond: ratePerSecond / of }) };
  return { ...pipeline, connection: { ...connection, limit, firstPage, ...shared } };
}

/** Returns the rows of the other sides of joins, as the plan has them. */
function sidesOf({ plan: { collections } }: Pipeline, { sides }: ShardPlan, work: Work): NonNullable<RunPart['side']> {
  return (at, ledger) => {
    const side = sides.find((each) => each.at === at);
    if (!side) throw new LeadstreamError('E_SHARD_PLAN', `the plan has no rows for ${at}`);
    const { collection, rows, stored } = side;
    const known = collections[collection];
    // It was made by `newConsistency`, and checked when it was planned.
    const consistency = side.consistency as Consistency;
    if (known) ledger.sides.push({ at, collection, rows, consistency, findings: new Findings(known) });
    return defer(() => work.copyOf(stored)).pipe(
      switchMap((path) => from(batchesIn(path))),
      map((batch, index) => pageOf(index + 1, batchFromRows(batch), { release: () => {} })),
    );
  };
}

async function* batchesIn(path: string): AsyncIterable<readonly Row[]> {
  let rows: Row[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    // Each line was a row.
    if (rows.push(untagged(line) as Row) < 1000) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}
