import { endWith, ignoreElements, last, type Observable } from 'rxjs';
import { GateError, LeadstreamError, newRunId, type Row } from '../core/index.js';
import { batchOf, deliver, type Page, task } from '../flow/index.js';
import { tagged } from '../json/index.js';
import { keysBelow, textAt } from '../lake/index.js';
import { getIn } from '../options/index.js';
import { type Pipeline, whyNotSharded } from '../plan/index.js';
import { type GatheredPart, type Ledger, type RunOptions, type RunPart, runPipeline } from '../run/index.js';
import { type CollectionReader, extentOf, type ReadingOptions, refuseRead } from '../source/index.js';
import { closing, isRemote, jsonIn, randomId, writeOnce } from '../store/index.js';
import { digesting } from './digests.js';
import { identityOf, planKey, reportKey, type ShardPlan } from './document.js';
import { moved, Work } from './parts.js';

/** How a run is shared. */
export interface PlanOptions extends Pick<RunOptions, 'signal' | 'stateDir' | 'watch'> {
  readonly shards: number;
  /** How many shards run at a time; each gets its part of the rate and the concurrency. Default: all. */
  readonly parallel?: number | undefined;
  /** Folder of plans: on a store, or one that all machines share. */
  readonly work: string;
}

/**
 * Begins a run of several processes: counts the list, reads the other sides of joins, and stores what the shards need.
 *
 * @returns The plan, and its folder.
 * @throws {LeadstreamError} `E_SHARD_PLAN` if one process has to run it, with the reason; otherwise as `runPipeline`.
 */
export async function planShards(pipeline: Pipeline, { shards, parallel = shards, work: root, ...options }: PlanOptions) {
  refuse(whyNotSharded(pipeline));
  const startedAt = new Date().toISOString();
  const run = newRunId(startedAt);
  const work = await Work.open(pipeline, `${root.replace(/\/+$/, '')}/${run}`, options);
  const planning = new Planning(pipeline, work, { run, started_at: startedAt, shards, parallel: Math.max(1, Math.min(parallel, shards)) });
  await closing(work, async () => {
    await runPipeline(pipeline, { ...options, part: planning }).catch(async (failure: unknown) => {
      const left = keysBelow(work.store, ['']);
      await left.then((keys) => work.store.remove(keys)).catch(() => {});
      throw failure;
    });
  });
  if (!planning.plan) throw new Error('a run that ends has delivered its plan');
  return { ...planning.plan, folder: work.store.root };
}

function refuse(why: string | undefined): void {
  if (why !== undefined) throw new LeadstreamError('E_SHARD_PLAN', `run it on one machine: ${why}`);
}

class Planning implements RunPart {
  readonly table: RunPart['table'];
  readonly startedAt: string;
  plan: ShardPlan | undefined;
  #list: Pick<ShardPlan, 'first_page' | 'limit' | 'rows' | 'ranges' | 'anchor'> | undefined;
  /** By step. */
  readonly #sides = new Map<string, ShardPlan['sides'][number]>();

  constructor(
    private readonly pipeline: Pipeline,
    private readonly work: Work,
    private readonly begun: Pick<ShardPlan, 'run' | 'started_at' | 'shards' | 'parallel'>,
  ) {
    this.startedAt = begun.started_at;
    this.table = { role: 'plan', run: begun.run, bases: new Map(), files: new Map(), first: 0, isKept: false };
  }

  /** Counts the list. */
  pages(reader: CollectionReader<Row>, options: ReadingOptions): Observable<never> {
    return task(async (ask) => {
      const { name } = reader.collection;
      const { firstPage, limit, rows } = await ask(extentOf(reader, options));
      if (rows === undefined) return refuse(`the rows of ${name} cannot be counted`);
      refuse(rows < 3 * limit ? `${name} has fewer than three pages` : undefined);
      const ranges = rangesOf(rows, limit, this.begun.shards);
      const page = firstPage + (ranges.at(-1)?.to ?? 0) / limit - 1;
      const { batch } = await ask(reader.request({ page, limit, purpose: 'probe' }));
      const [anchor] = digesting(this.pipeline, this.begun)(batch);
      if (anchor === undefined) throw moved('it became shorter');
      this.#list = { first_page: firstPage, limit, rows, ranges, anchor: String(anchor) };
    }).pipe(ignoreElements());
  }

  /** Stores the fields that a step uses of the other side of a join, a page in a line; the step itself gets no rows. */
  side(side: Ledger['sides'][number], read$: Observable<Page>, used: readonly string[]): Observable<never> {
    return task(async (ask) => {
      const stored = await this.work.add(`sides/${randomId()}.ndjson`, (file) => {
        const write = (page: Page) => file.append(`${tagged(batchOf(page).select(used).rows())}\n`);
        return ask(read$.pipe(deliver(write), endWith(0), last()));
      });
      const { at, rows, consistency } = side;
      this.#sides.set(at, { at, rows, consistency, stored });
    }).pipe(ignoreElements());
  }

  async deliver({ ledger }: GatheredPart): Promise<void> {
    const list = this.#list;
    if (!list) throw new Error('the list is counted before');
    const { pipeline, begun, work, table } = this;
    const failure = GateError.of(ledger.sides.flatMap((side) => refuseRead(side.at, side.consistency, pipeline.consistency.allowUnstable)));
    if (failure) throw failure;
    const undeclared = ledger.undeclared.map((column) => ({ name: column.name, original: column.original }));
    const plan: ShardPlan = {
      ...{ version: 1, pipeline: pipeline.name, of: identityOf(pipeline), ...begun, bases: Object.fromEntries(table.bases) },
      ...{ ...list, undeclared, sides: [...this.#sides.values()] },
    };
    await this.#removeDead(plan);
    await writeOnce(work.store, planKey, `${JSON.stringify(plan, undefined, 2)}\n`);
    table.isKept = true;
    this.plan = plan;
  }

  /** Removes the folders of this pipeline's plans that were committed or overtaken. */
  async #removeDead({ bases, of }: ShardPlan): Promise<void> {
    const { plan } = this.pipeline;
    const { store, stores } = this.work;
    const work = stores.at(store.root.slice(0, -this.begun.run.length - 1));
    const keys = await keysBelow(work, ['']);
    // The run of such a table removes the intents of others.
    const isLinked = plan.sinks.some(({ definition, config, output = '' }) => !isRemote(output) && definition.joins?.(config));
    for (const key of keys.filter((each) => /^[\w-]+\/plan\.json$/.test(each))) {
      const prefix = key.slice(0, -planKey.length);
      const other = jsonIn(await textAt(work, key));
      const isOvertaken = Object.entries(bases).some(([at, base]) => getIn(other, ['bases', at]) !== base);
      if (
        getIn(other, ['of', 'list of outputs']) !== of['list of outputs'] ||
        !(isLinked || isOvertaken || keys.includes(prefix + reportKey))
      )
        continue;
      await work.remove(keys.filter((each) => each.startsWith(prefix)));
    }
  }
}

/** Divides the list at borders of pages. The last full page and what follows are the tail; a shard but the first has two pages at least. */
function rangesOf(rows: number, limit: number, shards: number): ShardPlan['ranges'] {
  const pages = Math.floor(rows / limit) - 1;
  const parts = Math.max(1, Math.min(shards, Math.floor(pages / 2)));
  const border = (part: number) => Math.floor((pages * part) / parts) * limit;
  return Array.from({ length: parts }, (_, part) => ({ from: border(part), to: border(part + 1) }));
}
