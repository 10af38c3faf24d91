import { itemAt, expectations, parserOf, type DeclaredType, type Value } from '../core/index.js';
import { comparing, mapping, Unfit, type Compare, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';

/** A sort key: a field, the type as which its values are compared, and the direction. */
export interface SortKey {
  readonly field: string;
  /** Default `text`. */
  readonly type?: DeclaredType;
  /** Default false. */
  readonly descending?: boolean;
}

/** The keys of a batch's rows, in order of importance. */
export type Keys = readonly Vector[];

/** The order of rows by some keys. */
export class Order {
  readonly #keys: readonly { readonly field: string; readonly cast: (vector: Vector) => Mapped; readonly compare: Compare }[];

  constructor(keys: readonly SortKey[]) {
    this.#keys = keys.map(({ field, type = 'text', descending = false }) => ({
      field,
      cast: keyCast(type),
      compare: comparing(type, descending),
    }));
  }

  /** Returns the values by which rows are compared, and by field why a value does not fit its type. */
  keysOf(batch: RecordBatch): readonly (Mapped & { readonly field: string })[] {
    return this.#keys.map(({ field, cast }) => ({ field, ...cast(batch.columnOrNulls(field)) }));
  }

  /** Returns less than 0 if the first row comes before the second, 0 if their keys are equal. */
  compare(one: Keys, row: number, other: Keys, otherRow: number): number {
    for (const [index, { compare }] of this.#keys.entries()) {
      const order = compare(itemAt(one, index).value(row), itemAt(other, index).value(otherRow));
      if (order !== 0) return order;
    }
    return 0;
  }
}

/** Creates the cast of a key. Whole numbers that fit exactly become JavaScript numbers, which use less memory. */
function keyCast(type: DeclaredType): (vector: Vector) => Mapped {
  if (type === 'text') return mapping((value) => (value === null || typeof value === 'string' ? value : String(value)));
  const parse = parserOf(type);
  const unfit = new Unfit(`is not ${expectations[type]}`);
  return mapping((value): Value | Unfit => {
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (parsed === undefined) return unfit;
    return typeof parsed === 'bigint' && Number.isSafeInteger(Number(parsed)) ? Number(parsed) : parsed;
  });
}
