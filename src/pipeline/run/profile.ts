import { isWord, parserOf, textOf, type Column, type DeclaredType, type Sensitivity, type Value } from '../../core/index.js';
import type { Collection } from '../../collections/index.js';
import { batchOf, type Page } from '../../flow/index.js';
import { memoOf, type RecordBatch, type Vector } from '../../vector/index.js';

/** The columns that leave the last step, and statistics of their values. */
export interface Profile {
  /** Number of rows examined. */
  readonly rows: number;
  readonly columns: readonly ColumnProfile[];
}

/** Statistics of the values of a column. */
export interface ColumnProfile {
  readonly name: string;
  readonly type: DeclaredType;
  /** For a column that is not `plain`, a report shows neither values nor how many there are. An undeclared field counts as `personal`. */
  readonly sensitivity: Sensitivity;
  /** Rows whose value is null or an empty text. */
  readonly empty: number;
  /** Number of distinct values apart from these, for a `plain` column; `undefined` if counting was abandoned. */
  readonly distinct?: number;
  /** Why counting was abandoned: more than 1,000 values, or a text of more than 100 characters. */
  readonly uncounted?: 'many' | 'long';
  /**
   * The most frequent values, at most five, that occur in more than one row, as in text formats. Only for flags and for fields declared by the collection to
   * have a few words as values (`enumerated`), and only if all values are such words: any other text may be personal.
   */
  readonly top?: readonly { readonly value: string; readonly rows: number }[];
}

/** Maximum number of counted values per column, their maximum length in characters, and the maximum number in a report. */
const [mostValues, longestValue, mostTop] = [1_000, 100, 5];

/** Examines pages that leave the last step. Memory: at most 1,000 short values per column. */
export class Profiler {
  #rows = 0;
  #columns: readonly ColumnProfiler[] | undefined;

  /** @param collection Collection of the rows, which declares the enumerated fields. */
  constructor(private readonly collection: Pick<Collection, 'fields'>) {}

  /** @param columns Columns that leave the last step; the same for all pages. */
  observe(page: Page, columns: readonly Column[]): void {
    const batch = batchOf(page);
    this.#rows += batch.length;
    this.#columns ??= columns.map((column) => new ColumnProfiler(column, shownOf(column, this.collection)));
    for (const column of this.#columns) column.observe(batch);
  }

  profile(): Profile {
    return { rows: this.#rows, columns: (this.#columns ?? []).map((column) => column.profile()) };
  }
}

interface Counted {
  rows: number;
}

/** Returns whether a report may show a value. */
type Shown = (value: string) => boolean;

/** @returns `undefined` for a column whose values are never shown. */
function shownOf({ type, source }: Column, { fields }: Pick<Collection, 'fields'>): Shown | undefined {
  // An uncast value is whatever the service sent.
  if (type === 'flag') return (value) => isFlag(value) !== undefined;
  return source !== undefined && fields[source]?.enumerated ? isWord : undefined;
}

const isFlag = parserOf('flag');

/** Statistics of one column. */
class ColumnProfiler {
  readonly #sensitivity: Sensitivity;
  #empty = 0;
  /** The values so far; `undefined` if they are not counted, or no longer. */
  #counted: Map<string, Counted> | undefined;
  readonly #countedIn: (vector: Vector) => (row: number) => Counted | undefined;

  #uncounted: 'many' | 'long' | undefined;

  constructor(
    private readonly column: Column,
    private readonly shown: Shown | undefined,
  ) {
    this.#sensitivity = column.undeclared ? 'personal' : column.sensitivity;
    if (this.#sensitivity === 'plain') this.#counted = new Map();
    this.#countedIn = memoOf((value) => this.#find(value), mostValues);
  }

  observe(batch: RecordBatch): void {
    const vector = batch.columnOrNulls(this.column.name);
    const countedAt = this.#countedIn(vector);
    for (let row = 0; row < vector.length; row += 1) {
      if (vector.isEmpty(row)) {
        this.#empty += 1;
        continue;
      }
      if (!this.#counted) continue;
      const counted = countedAt(row);
      if (counted) counted.rows += 1;
      else this.#counted = undefined;
    }
  }

  profile(): ColumnProfile {
    const { name, type } = this.column;
    const known = { name, type, sensitivity: this.#sensitivity, empty: this.#empty };
    if (!this.#counted) return { ...known, ...(this.#uncounted && { uncounted: this.#uncounted }) };
    const counted = { ...known, distinct: this.#counted.size };
    if (!this.shown || ![...this.#counted.keys()].every(this.shown)) return counted;
    const often = [...this.#counted]
      .filter(([, { rows }]) => rows > 1)
      .toSorted(([a, one], [b, other]) => other.rows - one.rows || (a < b ? -1 : 1));
    return { ...counted, top: often.slice(0, mostTop).map(([value, { rows }]) => ({ value, rows })) };
  }

  /** @returns `undefined` for a value that ends the counting. */
  #find(value: Value): Counted | undefined {
    const text = textOf(value, this.column.type) ?? '';
    const known = this.#counted?.get(text);
    if (known || !this.#counted) return known;
    if (text.length > longestValue) this.#uncounted = 'long';
    else if (this.#counted.size >= mostValues) this.#uncounted = 'many';
    if (this.#uncounted) return undefined;
    const counted = { rows: 0 };
    this.#counted.set(text, counted);
    return counted;
  }
}
