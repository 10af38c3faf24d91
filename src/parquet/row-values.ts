import { itemAt, SinkError, type Value, type OutputColumn } from '../core/index.js';
import { comparing, type Compare, type Batch } from '../vector/index.js';
import { behindText, type GroupPlan, type RowGroup, type SortKey } from './engine.js';

/** Rows as columns of values. */
export interface ValueBatch {
  readonly rows: number;
  readonly columns: readonly (readonly Value[])[];
}

/** Keeps values as they arrive. Sorting briefly holds them twice. */
export class RowValues<G> implements RowGroup<G> {
  readonly #orders: readonly ReturnType<typeof orderOf>[];
  #columns: Value[][];
  #rows = 0;
  #text = 0;

  /** @param taken Converts the rows to what an encoder takes. @throws {SinkError} `E_SINK_VALUE` when a sort key is not a column. */
  constructor(
    private readonly columns: readonly OutputColumn[],
    private readonly plan: Omit<GroupPlan, 'many'>,
    private readonly taken: (rows: ValueBatch) => G,
  ) {
    this.#orders = plan.sortedBy.map((key) => orderOf(key, columns));
    this.#columns = columns.map(() => []);
  }

  get rows(): number {
    return this.#rows;
  }

  get isComplete(): boolean {
    return this.#rows >= this.plan.rows || this.#text >= this.plan.text;
  }

  add(batch: Batch, from: number, to: number): number {
    if (this.isComplete) return from;
    const end = Math.min(to, from + this.plan.rows - this.#rows);
    const before = this.#text;
    for (const [index, column] of this.#columns.entries()) {
      const vector = batch.column(index);
      for (let row = from; row < end; row += 1) {
        column.push(vector.value(row));
        this.#text += vector.byteLength(row);
      }
    }
    const last = this.#text < this.plan.text ? end : behindText(batch, from, this.plan.text - before);
    this.#rows += last - from;
    if (last < end) for (const column of this.#columns) column.length = this.#rows;
    return last;
  }

  take(): G {
    const batch = { rows: this.#rows, columns: this.#sorted() };
    this.#columns = this.columns.map(() => []);
    this.#rows = 0;
    this.#text = 0;
    return this.taken(batch);
  }

  #sorted(): Value[][] {
    if (this.#orders.length === 0) return this.#columns;
    const keys = this.#orders.map(({ index, compare }) => ({ values: itemAt(this.#columns, index), compare }));
    const places = Array.from({ length: this.#rows }, (_, row) => row);
    places.sort((one, other) => {
      for (const { values, compare } of keys) {
        const order = compare(itemAt(values, one), itemAt(values, other));
        if (order !== 0) return order;
      }
      return 0;
    });
    return this.#columns.map((values) => places.map((row) => itemAt(values, row)));
  }
}

function orderOf({ column, descending }: SortKey, columns: readonly OutputColumn[]): { readonly index: number; readonly compare: Compare } {
  const index = columns.findIndex(({ name }) => name === column);
  const type = columns[index]?.type;
  if (!type) throw new SinkError('E_SINK_VALUE', `there is no column ${column} to sort by`);
  return { index, compare: comparing(type, descending) };
}
