import { itemAt, StepError } from '../../core/index.js';
import type { BatchReader, Collector, OnError, StepContext } from '../../flow/index.js';
import { Order, pageRows, type Run, Runs } from '../../sorting/index.js';
import { FlatVector, RecordBatch, taking, type Mapped } from '../../vector/index.js';
import { keptRows } from '../on-error.js';
import { scratchFailure } from '../scratch-failure.js';
import type { ValueAccumulator } from './accumulator.js';
import { storedKeys, type AggregatePlan } from './group-rows.js';
import { Groups } from './groups.js';
import { MergedGroups, valueName } from './merged-groups.js';
import { comparedAs, type Plain } from './plain.js';

export interface AggregatorOptions {
  /** Maximum memory for groups, in bytes. */
  readonly memory: number;
  /** Private folder for data that does not fit. */
  readonly folder: string;
  /** What happens to a row with a value that does not have its type. */
  readonly onError: OnError;
}

/**
 * Computes results of groups of rows in memory. Beyond that, sorted runs of groups are written to scratch files and merged. Half of the memory is for groups;
 * the rest is for sorting them, for blocks in transit, and for memory that the runtime has not freed yet.
 */
export class Aggregator implements Collector {
  #groups: Groups;
  readonly #stored: Runs;
  /** Runs of the results that are stored value by value, as in `#groups.values`. */
  readonly #values: readonly { readonly place: number; readonly runs: Runs }[];

  constructor(
    private readonly plan: AggregatePlan,
    private readonly options: AggregatorOptions,
    private readonly context: StepContext,
  ) {
    this.#groups = new Groups(plan);
    const { values } = this.#groups;
    const spilled = { memory: options.memory / 4 / (1 + values.length), folder: options.folder, failed: scratchFailure(context.at) };
    const keys = storedKeys(plan.by);
    this.#stored = new Runs(new Order(keys), spilled);
    const valueKey = (place: number) => ({ field: valueName, type: comparedAs(itemAt(plan.compute, place).type) });
    this.#values = values.map(({ place }) => ({ place, runs: new Runs(new Order([...keys, valueKey(place)]), spilled) }));
  }

  async add(arrived: RecordBatch, page: number): Promise<void> {
    if (arrived.length === 0) return;
    const plains = this.plan.read(arrived, page);
    const { at, tally } = this.context;
    const failure = (field: string, reason: string, row: string) => new StepError('E_STEP_VALUE', `${at}: ${field}: ${reason} in ${row}`);
    const kept = keptRows({ page, batch: arrived }, plains, this.options.onError, this.context, failure);
    const length = kept?.length ?? arrived.length;
    this.#groups.add(length, kept === undefined ? plains : taken(plains, kept));
    tally.grouped += length;
    if (!this.#groups.fits(this.options.memory / 2)) await this.#spill();
  }

  async finish(): Promise<BatchReader> {
    const { rows } = this.#groups;
    if (this.#stored.count === 0) {
      if (this.plan.by.length === 0 && rows.size === 0) rows.open([]);
      return this.#counted(this.#inMemory());
    }
    if (rows.size > 0) await this.#spill();
    const values = await Promise.all(this.#values.map(async ({ place, runs }) => ({ place, reader: await runs.merged() })));
    return this.#counted(new MergedGroups(this.plan, await this.#stored.merged(), values, this.context.at));
  }

  async close(): Promise<void> {
    this.#groups = new Groups(this.plan);
    await Promise.all([this.#stored, ...this.#values.map(({ runs }) => runs)].map((runs) => runs.close()));
  }

  #counted(reader: BatchReader): BatchReader {
    return {
      next: async () => {
        const batch = await reader.next();
        this.context.tally.groups += batch.length;
        return batch;
      },
    };
  }

  #inMemory(): BatchReader {
    const { rows } = this.#groups;
    const sorted = rows.sorted();
    let given = 0;
    return {
      next: () => {
        const some = sorted.subarray(given, (given += pageRows));
        return Promise.resolve(some.length === 0 ? RecordBatch.empty : rows.results(some, this.context.at));
      },
    };
  }

  /** Writes the groups in memory as a run, and values that are stored individually as further runs. */
  async #spill(): Promise<void> {
    const { rows } = this.#groups;
    const sorted = rows.sorted();
    const blockRows = this.#stored.blockRows(rows.size, rows.bytes);
    let given = 0;
    await this.#stored.add({
      next: () => {
        const some = sorted.subarray(given, (given += blockRows));
        return Promise.resolve(some.length === 0 ? RecordBatch.empty : this.#groups.stored(some));
      },
    });
    for (const [index, { gathered }] of this.#groups.values.entries()) {
      const { runs } = itemAt(this.#values, index);
      if (gathered.size > 0) await runs.add(this.#valueRun(runs, sorted, gathered));
    }
    this.#groups = new Groups(this.plan);
  }

  /** Returns the values of all groups, in the order of groups and values. */
  #valueRun(runs: Runs, sorted: Uint32Array, gathered: ValueAccumulator): Run {
    const { rows } = this.#groups;
    const blockRows = runs.blockRows(gathered.size, rows.bytes);
    const pairs = pairsOf(sorted, gathered);
    return {
      next: () => {
        const groups: number[] = [];
        const values: Plain[] = [];
        while (values.length < blockRows) {
          const { done, value: pair } = pairs.next();
          if (done) break;
          groups.push(pair[0]);
          values.push(pair[1]);
        }
        const columns = [...rows.keysOf(groups), [valueName, new FlatVector(values)] as const];
        return Promise.resolve(values.length === 0 ? RecordBatch.empty : new RecordBatch(values.length, new Map(columns)));
      },
    };
  }
}

function* pairsOf(sorted: Uint32Array, gathered: ValueAccumulator): Generator<readonly [group: number, value: Plain], undefined> {
  for (const group of sorted) for (const value of gathered.sorted(group)) yield [group, value];
  return undefined;
}

/** Returns the plain values of some rows. */
function taken(plains: ReadonlyMap<string, Mapped>, rows: readonly number[]): ReadonlyMap<string, Mapped> {
  const take = taking(rows);
  return new Map(Array.from(plains, ([name, { vector, unfit }]) => [name, { vector: take(vector), unfit }]));
}
