import { isWord, parserOf, textOf, type Column, type DeclaredType, type Sensitivity, type Value } from '../../core/index.js';
import type { Collection } from '../../collections/index.js';
import { batchOf, type Page } from '../../flow/index.js';
import { memoOf, type RecordBatch, type Vector } from '../../vector/index.js';

/** The columns that leave the last step, and what is in them. */
export interface Profile {
  /** Rows that were looked at. */
  readonly rows: number;
  readonly columns: readonly ColumnProfile[];
}

/** What the values of a column are like. */
export interface ColumnProfile {
  readonly name: string;
  readonly type: DeclaredType;
  /** Of a column that is not `plain` no value is in a report, nor how many there are. A field that nobody declared counts as `personal`. */
  readonly sensitivity: Sensitivity;
  /** Rows whose value is null or an empty text. */
  readonly empty: number;
  /** Different values besides these, of a `plain` column; `undefined` where they were not counted to the end. */
  readonly distinct?: number;
  /** Why they were not: more than 1,000 of them, or a text of more than 100 characters. */
  readonly uncounted?: 'many' | 'long';
  /**
   * The most frequent values, at most five, that more than one row has: as text formats write them. Only of flags and of fields whose values
   * the collection declares to be a few words (`enumerated`), and only if all of them are: any other text may hold something about a person.
   */
  readonly top?: readonly { readonly value: string; readonly rows: number }[];
}

/** Values of a column that are counted, the longest of them in characters, and how many of them a report has. */
const [mostValues, longestValue, mostTop] = [1_000, 100, 5];

/** Looks at pages that leave the last step. Memory: at most 1,000 short values for each column. */
export class Profiler {
  #rows = 0;
  #columns: readonly ColumnProfiler[] | undefined;

  /** @param collection That of the rows, whose fields say which values are a few words. */
  constructor(private readonly collection: Pick<Collection, 'fields'>) {}

  /** @param columns Those that leave the last step; they are the same for all pages. */
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

/** Whether a report may show a value. */
type Shown = (value: string) => boolean;

/** @returns `undefined` for a column of which no value is shown. */
function shownOf({ type, source }: Column, { fields }: Pick<Collection, 'fields'>): Shown | undefined {
  // What is not cast yet is whatever the service sent.
  if (type === 'flag') return (value) => isFlag(value) !== undefined;
  return source !== undefined && fields[source]?.enumerated ? isWord : undefined;
}

const isFlag = parserOf('flag');

/** One column. */
class ColumnProfiler {
  readonly #sensitivity: Sensitivity;
  #empty = 0;
  /** The values so far; `undefined` where they are not, or no longer, counted. */
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

  /** @returns `undefined` for a value with which the column has too much to count. */
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
