import { EMPTY, firstValueFrom, type Observable } from 'rxjs';
import { LeadstreamError, newRunId, type OnDuplicateKey, GateError } from '../core/index.js';
import { batchOf, deliver, type Page } from '../flow/index.js';
import { getIn } from '../options/index.js';
import { type Pipeline, type PlannedStep, whyNotSharded } from '../plan/index.js';
import { completed, openRunOutputs, PipelineRead, Run, type RunOptions, type RunPart } from '../run/index.js';
import { extentOf, refuseRead, untilAborted } from '../source/index.js';
import { isRemote, jsonIn, type ObjectStore, writeOnce } from '../store/index.js';
import { identityOf, planKey, reportKey, type ShardPlan } from './document.js';
import { type StoredPart, tagged, Work } from './work.js';

/** How a run is shared. */
export interface PlanOptions extends Pick<RunOptions, 'signal' | 'stateDir' | 'watch'> {
  readonly shards: number;
  /** How many shards run at a time; each gets its part of the rate and the concurrency. Default: all. */
  readonly parallel?: number | undefined;
  /** Folder of plans: on a store, or one that all machines share. */
  readonly work: string;
}

/** The plan, and its folder. */
export interface Planned extends ShardPlan {
  readonly folder: string;
}

/**
 * Begins a run of several processes: counts the list, reads the other sides of joins, and stores what the shards need.
 *
 * @throws {LeadstreamError} `E_SHARD_PLAN` if one process has to run it, with the reason; otherwise as `runPipeline`.
 */
export async function planShards(pipeline: Pipeline, { shards, parallel = shards, work, ...options }: PlanOptions): Promise<Planned> {
  refuse(whyNotSharded(pipeline));
  const startedAt = new Date().toISOString();
  const id = newRunId(startedAt);
  const table: RunPart['table'] = { role: 'plan', run: id, bases: new Map(), files: new Map(), first: 0, isKept: false };
  const run = new Run(pipeline, { ...options, part: { table, startedAt, pages: () => EMPTY } });
  const place = `${work.replace(/\/+$/, '')}/${id}`;
  const folder = await Work.open(pipeline, place, run.state.folder('scratch'), run.stop.signal);
  const claim = await run.claim();
  const reading = new PipelineRead(run, claim.firstStart, { add: () => {}, flush: () => Promise.resolve() });
  const outputs = await openRunOutputs(run, claim, reading).catch(async (failure: unknown) => {
    await Promise.all([folder.close(), claim.lock.release()]);
    throw failure;
  });
  try {
    await reading.open(claim, outputs.opened);
    reading.ledger.continue(
      outputs.opened.flatMap(({ earlier, output }) => (earlier ?? reading.counts?.ofOutput(output))?.undeclared ?? []),
      [],
    );
    const { name } = pipeline.plan.collection;
    const asked = { ...pipeline.connection, events: run.events, expectedRows: reading.counts?.ofList(name)?.rows };
    const extent = await soon(extentOf(reading.source, asked), run.stop.signal);
    reading.ledger.fixColumns();
    const { firstPage, limit, rows = Infinity } = extent ?? { firstPage: 1, limit: 1 };
    refuse(rows === Infinity ? `the rows of ${name} cannot be counted` : undefined);
    refuse(rows < 3 * limit ? `${name} has fewer than three pages` : undefined);
    const sides: ShardPlan['sides'] = [];
    for (const step of pipeline.plan.steps)
      if (step.definition.reads?.(step.config) !== undefined) sides.push(await sideOf(step, reading, run, folder));
    const plan: ShardPlan = {
      ...{ version: 1, run: id, pipeline: pipeline.name, of: identityOf(pipeline), started_at: startedAt },
      ...{ bases: Object.fromEntries(table.bases), first_page: firstPage, limit, rows, ranges: rangesOf(rows, limit, shards), shards },
      ...{ parallel: Math.max(1, Math.min(parallel, shards)), undeclared: [...reading.ledger.placed], sides },
    };
    await removeDead(pipeline, folder.store.root.slice(0, -id.length - 1), plan, run.stores);
    await claim.lock.check();
    await writeOnce(folder.store, planKey, `${JSON.stringify(plan, undefined, 2)}\n`);
    table.isKept = true;
    return { ...plan, folder: folder.store.root };
  } finally {
    await outputs.abort();
    await reading.close();
    await folder.close();
    await claim.lock.release();
    run.stop.forget();
  }
}

function refuse(why: string | undefined): void {
  if (why !== undefined) throw new LeadstreamError('E_SHARD_PLAN', `run it on one machine: ${why}`);
}

function soon<T>(result$: Observable<T>, signal: AbortSignal): Promise<T> {
  return firstValueFrom(result$.pipe(untilAborted(signal, 'nothing was planned')));
}

/** Divides the list at borders of pages. The last full page and what follows are the tail; a shard but the first has two pages at least. */
function rangesOf(rows: number, limit: number, shards: number): ShardPlan['ranges'] {
  const pages = Math.floor(rows / limit) - 1;
  const parts = Math.max(1, Math.min(shards, Math.floor(pages / 2)));
  const border = (part: number) => Math.floor((pages * part) / parts) * limit;
  return Array.from({ length: parts }, (_, part) => ({ from: border(part), to: border(part + 1) }));
}

/** What a join that reads a list has, which was checked. */
interface SideConfig {
  readonly on: Readonly<Record<string, string>>;
  readonly select?: readonly string[];
  readonly pick?: string | Readonly<Record<string, string>>;
  readonly reveal?: readonly string[];
  readonly on_duplicate_key?: OnDuplicateKey;
}

/** Reads the other side of a join, and stores the fields that the step uses. */
async function sideOf(step: PlannedStep, reading: PipelineRead, run: Run, work: Work): Promise<ShardPlan['sides'][number]> {
  const { at, config } = step;
  const { plan, consistency: mode } = run.pipeline;
  const name = String(step.definition.reads?.(config));
  const collection = plan.collections[name];
  if (!collection) throw new Error('names of collections are checked before');
  const { reveal, on_duplicate_key: onDuplicateKey, on, select, pick } = Object(config) as SideConfig;
  const compared = [...Object.values(on), ...(typeof pick === 'object' ? Object.values(pick) : []), ...collection.key];
  const used = select && [...new Set([...select, ...compared])];
  const stored: StoredPart = await work.add(`sides/${plan.steps.indexOf(step)}.ndjson`, async (file) => {
    const write = async (page: Page) => {
      const batch = used ? batchOf(page).select(used) : batchOf(page);
      await file.append(
        batch
          .rows()
          .map((row) => `${tagged(row)}\n`)
          .join(''),
      );
    };
    await completed(reading.readSide(at, collection, reveal, onDuplicateKey).pipe(deliver(write)), run.stop.signal);
  });
  const side = reading.ledger.sides.find((each) => each.at === at);
  if (!side) throw new Error(`${at} was not read`);
  const failure = GateError.of(refuseRead(at, side.consistency, mode.allowUnstable));
  if (failure) throw failure;
  return { at, collection: name, rows: side.rows, consistency: side.consistency, stored };
}

/** Removes the folders of this pipeline's plans that were committed or overtaken. */
async function removeDead(
  pipeline: Pipeline,
  root: string,
  { bases }: ShardPlan,
  stores: { at(root: string): ObjectStore },
): Promise<void> {
  const work = stores.at(root);
  const keys: string[] = [];
  for await (const { key } of work.list('')) keys.push(key);
  // The run of such a table removes the intents of others.
  const isLinked = pipeline.plan.sinks.some(({ definition, config, output = '' }) => !isRemote(output) && definition.joins?.(config));
  for (const key of keys.filter((each) => /^[\w-]+\/plan\.json$/.test(each))) {
    const prefix = key.slice(0, -planKey.length);
    const plan = jsonIn((await work.read(key))?.bytes.toString('utf8') ?? '');
    const isOvertaken = Object.entries(bases).some(([at, base]) => getIn(plan, ['bases', at]) !== base);
    if (getIn(plan, ['pipeline']) !== pipeline.name || !(isLinked || isOvertaken || keys.includes(prefix + reportKey))) continue;
    await work.remove(keys.filter((each) => each.startsWith(prefix)));
  }
}
