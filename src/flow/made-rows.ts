import { strictest, type Column, type DeclaredType, type Row, type Sensitivity, type Value, type ValueOf } from '../core/index.js';
import { FlatVector, RecordBatch } from '../vector/index.js';
import { kindOf, kinds, wrongValue } from './declared-values.js';
import { withBatch, withRows, type Page } from './page.js';
import { refusedRow } from './row-function.js';
import type { StepFacts } from './step-facts.js';

/** The declared types that a value of JavaScript can have. */
type TypeFor<V> = { [T in DeclaredType]: NonNullable<V> extends ValueOf[T] ? T : never }[DeclaredType];

/** The columns of rows that a function makes: by name the type, and the sensitivity. */
export type MadeColumns<U> = {
  readonly [K in keyof U & string]-?: TypeFor<U[K]> | { readonly type: TypeFor<U[K]>; readonly sensitivity?: Sensitivity | undefined };
};

/** What is known of the rows that a function makes. */
export interface MadeOptions<U> {
  /**
   * The columns that they have, all of them, so that steps and `writeTo` know them. `undefined` and a field that is not there count as `null`.
   * Default: nobody knows. Sensitivity, where it is not said: that of the most sensitive column which the function is given; `personal` where
   * nobody knows these.
   */
  readonly columns?: MadeColumns<U> | undefined;
}

type Declared = Readonly<Record<string, DeclaredType | { readonly type: DeclaredType; readonly sensitivity?: Sensitivity | undefined }>>;

/** Makes pages of what a function of a program gives, and holds it to the columns that are declared. */
export class MadeRows<U> {
  readonly #columns: readonly (readonly [name: string, type: DeclaredType, sensitivity: Sensitivity | undefined])[] | undefined;
  readonly #names: ReadonlySet<string>;

  /** @param at Name of the step in messages. */
  constructor(
    private readonly at: string,
    { columns }: MadeOptions<U>,
  ) {
    this.#columns =
      columns &&
      Object.entries(columns as Declared).map(([name, one]) =>
        typeof one === 'string' ? [name, one, undefined] : [name, one.type, one.sensitivity],
      );
    this.#names = new Set(this.#columns?.map(([name]) => name));
  }

  /** @throws {StepError} `E_STEP_FUNCTION` for a row that is none, a field that no column is there for, and a value of another type. */
  page(page: Page<unknown>, rows: readonly U[]): Page<U> {
    const columns = this.#columns;
    if (columns === undefined) return withRows(page, rows);
    const checked = rows.map((row, index) => this.#checked(row, { page: page.number, index }));
    const vectors = columns.map(([name]) => [name, new FlatVector(checked.map((row) => row[name] ?? null))] as const);
    return withBatch(page, new RecordBatch(rows.length, new Map(vectors)));
  }

  get facts(): StepFacts {
    return { at: this.at, columns: (input) => this.#madeOf(strictest(input)), made: this.#madeOf('personal') };
  }

  #madeOf(strictest: Sensitivity): readonly Column[] | undefined {
    return this.#columns?.map(([name, type, sensitivity = strictest]): Column => ({ name, original: name, type, cast: true, sensitivity }));
  }

  #checked(row: unknown, place: { readonly page: number; readonly index: number }): Readonly<Record<string, Value | undefined>> {
    const refuse = (what: string, remedy: string) => refusedRow({ who: this.at, at: this.at, row: undefined, ...place }, what, { remedy });
    if (!isRow(row)) throw refuse(`gave ${kindOf(row)}`, 'columns are declared, so it gives an object with these fields');
    const unknown = Object.keys(row).find((name) => !this.#names.has(name));
    if (unknown !== undefined) throw refuse(`gave the field '${unknown}'`, 'name it under columns, with its type');
    for (const [name, type] of this.#columns ?? []) {
      const wrong = wrongValue(name, type, row[name]);
      if (wrong !== undefined) throw refuse(wrong, `columns declares it as ${type}, which is ${kinds[type]}`);
    }
    return row;
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
