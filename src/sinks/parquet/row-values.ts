import { SinkError } from '../../errors.js';
import type { DeclaredType, Value } from '../../collections/index.js';
import type { OutputColumn } from '../output-column.js';
import type { Batch } from '../batch.js';
import { daysOf, type GroupPlan, type RowGroup, type SortKey } from './encoder.js';

/** Rows as columns of values. */
export interface ValueBatch {
  readonly rows: number;
  readonly columns: readonly (readonly Value[])[];
}

/** Keeps the values as they come. Sorting holds them twice for a moment. */
export class RowValues implements RowGroup<ValueBatch> {
  readonly #orders: readonly Order[];
  #columns: Value[][];
  #rows = 0;
  #text = 0;

  /** @throws {SinkError} `E_SINK_VALUE` when a sort key names no column. */
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
    const keys = this.#orders.map(({ index, compare }) => ({ values: this.#columns[index] ?? [], compare }));
    const places = Array.from({ length: this.#rows }, (_, row) => row);
    places.sort((one, other) => {
      for (const { values, compare } of keys) {
        const order = compare(values[one] ?? null, values[other] ?? null);
        if (order !== 0) return order;
      }
      return 0;
    });
    return this.#columns.map((values) => places.map((row) => values[row] ?? null));
  }
}

type Compare = (one: Value, other: Value) => number;

interface Order {
  readonly index: number;
  readonly compare: Compare;
}

function orderOf({ column, descending }: SortKey, columns: readonly OutputColumn[]): Order {
  const index = columns.findIndex(({ name }) => name === column);
  const type = columns[index]?.type;
  if (!type) throw new SinkError('E_SINK_VALUE', `there is no column ${column} to sort by`);
  const compare = compares[type];
  return { index, compare: nullsLast(descending ? (one, other) => compare(other, one) : compare) };
}

function nullsLast(compare: Compare): Compare {
  return (one, other) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return compare(one, other);
  };
}

const byValue: Compare = (one, other) => {
  if (one === null || other === null) return 0;
  return one < other ? -1 : one > other ? 1 : 0;
};

/** In the order that Parquet defines for what is stored, which is what readers search by. */
const compares: Readonly<Record<DeclaredType, Compare>> = {
  text: (one, other) => (typeof one === 'string' && typeof other === 'string' ? compareTexts(one, other) : 0),
  flag: byValue,
  integer: byValue,
  decimal: byValue,
  timestamp: byValue,
  // Two times of one day are the same date, so the next key decides.
  date: (one, other) => (one instanceof Date && other instanceof Date ? daysOf(one) - daysOf(other) : 0),
};

/** Compares well-formed texts by their UTF-8 bytes, which is by code points: surrogates come after all of the BMP. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

/** Moves surrogates behind the last units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
