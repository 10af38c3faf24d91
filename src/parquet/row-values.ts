import { itemAt, SinkError, type Value, type OutputColumn } from '../core/index.js';
import { comparing, type Compare, type Batch } from '../vector/index.js';
import { type GroupPlan, RowGroup, type OrderBy } from './engine.js';

export interface ValueBatch {
  readonly rows: number;
  readonly columns: readonly (readonly Value[])[];
}

/** Keeps values as they arrive. Sorting holds them twice for a moment. */
export class RowValues<G> extends RowGroup<G> {
  readonly #orders: readonly ReturnType<typeof orderOf>[];
  #columns: Value[][];

  /** @param converted Converts rows to the encoder's form. @throws {SinkError} `E_SINK_VALUE` if a sort key is not a column. */
  constructor(
    private readonly columns: readonly OutputColumn[],
    plan: Omit<GroupPlan, 'many'>,
    private readonly converted: (rows: ValueBatch) => G,
  ) {
    super(plan);
    this.#orders = plan.sortedBy.map((key) => orderOf(key, columns));
    this.#columns = columns.map(() => []);
  }

  protected append(batch: Batch, from: number, to: number): number {
    let text = 0;
    for (const [index, column] of this.#columns.entries()) {
      const vector = batch.column(index);
      for (let row = from; row < to; row += 1) {
        column.push(vector.value(row));
        text += vector.byteLength(row);
      }
    }
    return text;
  }

  protected firstRows(rows: number): G {
    for (const column of this.#columns) column.length = rows;
    const columns = this.#sorted(rows);
    this.#columns = this.columns.map(() => []);
    return this.converted({ rows, columns });
  }

  #sorted(rows: number): Value[][] {
    if (this.#orders.length === 0) return this.#columns;
    const keys = this.#orders.map(({ index, compare }) => ({ values: itemAt(this.#columns, index), compare }));
    const places = Array.from({ length: rows }, (_, row) => row);
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

function orderOf({ column, descending }: OrderBy, columns: readonly OutputColumn[]): { readonly index: number; readonly compare: Compare } {
  const index = columns.findIndex(({ name }) => name === column);
  const type = columns[index]?.type;
  if (!type) throw new SinkError('E_SINK_VALUE', `there is no column ${column} to sort by`);
  return { index, compare: comparing(type, descending) };
}
