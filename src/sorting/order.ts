import { itemAt, expectations, parserOf, type DeclaredType, type Value } from '../core/index.js';
import { comparing, mapping, Unfit, type Compare, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';

/** What rows are sorted by: a field, as what its values are compared, and which way. */
export interface SortKey {
  readonly field: string;
  /** Default `text`. */
  readonly type?: DeclaredType;
  /** Default false. */
  readonly descending?: boolean;
}

/** The keys of the rows of a batch, in the order of importance. */
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

  /** What the rows are compared by, and why a value of theirs is none of its type, by field. */
  keysOf(batch: RecordBatch): readonly (Mapped & { readonly field: string })[] {
    return this.#keys.map(({ field, cast }) => ({ field, ...cast(batch.columnOrNulls(field)) }));
  }

  /** Less than 0 when the one row comes before the other, 0 when the keys say nothing. */
  compare(one: Keys, row: number, other: Keys, otherRow: number): number {
    for (const [index, { compare }] of this.#keys.entries()) {
      const order = compare(itemAt(one, index).value(row), itemAt(other, index).value(otherRow));
      if (order !== 0) return order;
    }
    return 0;
  }
}

/** Texts become what they are compared as; a whole number that a number holds exactly takes less room as one. */
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
