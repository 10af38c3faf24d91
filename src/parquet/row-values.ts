import { itemAt, SinkError, type Value, type OutputColumn } from '../core/index.js';
import { comparing, type Compare, type Batch } from '../vector/index.js';
import type { GroupPlan, RowGroup, SortKey } from './engine.js';

/** Rows as columns of values. */
export interface ValueBatch {
  readonly rows: number;
  readonly columns: readonly (readonly Value[])[];
}

/** Collects values as they arrive. Sorting holds them twice for a moment. */
export class RowValues implements RowGroup<ValueBatch> {
  readonly #orders: readonly Order[];
  #columns: Value[][];
  #rows = 0;
  #text = 0;

  /** @throws {SinkError} `E_SINK_VALUE` if a sort key is not a column. */
  constructor(
    private readonly columns: readonly OutputColumn[],
    private readonly plan: Omit<GroupPlan, 'many'>,
  ) {
    this.#orders = plan.sortedBy.map((key) => orderOf(key, columns));
    this.#columns = columns.map(() => []);
  }

  get rows(): number {
    return this.#rows;
  }

  get room(): number {
    return this.#text >= this.plan.text ? 0 : this.plan.rows - this.#rows;
  }

  add(batch: Batch, from: number, to: number): void {
    for (const [index, column] of this.#columns.entries()) {
      const vector = batch.column(index);
      for (let row = from; row < to; row += 1) {
        column.push(vector.value(row));
        this.#text += vector.byteLength(row);
      }
    }
    this.#rows += to - from;
  }

  take(): ValueBatch {
    const batch = { rows: this.#rows, columns: this.#sorted() };
    this.#columns = this.columns.map(() => []);
    this.#rows = 0;
    this.#text = 0;
    return batch;
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

interface Order {
  readonly index: number;
  readonly compare: Compare;
}

function orderOf({ column, descending }: SortKey, columns: readonly OutputColumn[]): Order {
  const index = columns.findIndex(({ name }) => name === column);
  const type = columns[index]?.type;
  if (!type) throw new SinkError('E_SINK_VALUE', `there is no column ${column} to sort by`);
  return { index, compare: comparing(type, descending) };
}
