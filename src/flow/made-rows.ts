import { strictest, type Column, type DeclaredType, type Row, type Sensitivity, type ValueOf } from '../core/index.js';
import { fieldOf, RecordBatch, TakenRows } from '../vector/index.js';
import { kindOf, kinds, wrongValue } from './declared-values.js';
import { withBatch, withRows, type Page } from './page.js';
import { changedInPlace, refusedRow, type Refused } from './row-function.js';
import type { StepFacts } from './step-facts.js';

/** The declared types that fit a JavaScript value. */
type TypeFor<V> = { [T in DeclaredType]: NonNullable<V> extends ValueOf[T] ? T : never }[DeclaredType];

/** The columns of rows that a function creates: the type by name, with an optional sensitivity. */
export type MadeColumns<U> = {
  readonly [K in keyof U & string]-?: TypeFor<U[K]> | { readonly type: TypeFor<U[K]>; readonly sensitivity?: Sensitivity | undefined };
};

/** What is declared about the rows that a function creates. */
export interface MadeOptions<U> {
  /**
   * All the columns of the rows, so that steps and `writeTo` can use them. `undefined` and missing fields count as `null`. Default:
   * unknown. The default sensitivity is that of the most sensitive input column, or `personal` if the input columns are unknown.
   */
  readonly columns?: MadeColumns<U> | undefined;
}

type Declared = Readonly<Record<string, DeclaredType | { readonly type: DeclaredType; readonly sensitivity?: Sensitivity | undefined }>>;

/** Columns that a program declares for rows of a function: name, type and sensitivity. */
type Named = readonly (readonly [name: string, type: DeclaredType, sensitivity: Sensitivity | undefined])[];

/** Creates pages of the results of a program's function, and checks them against the declared columns. */
export class MadeRows<U> {
  readonly #columns: Named | undefined;

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
  }

  /** Starts the page for the rows created from another one. */
  begin(page: Page<unknown>): MadePage<U> {
    return new MadePage(this.at, page, this.#columns);
  }

  /**
   * @throws {StepError} `E_STEP_FUNCTION` for a result that is not a row, a field without a column, and a value of another type.
   */
  page(page: Page<unknown>, rows: readonly U[]): Page<U> {
    const made = this.begin(page);
    for (const [index, row] of rows.entries()) {
      const wrong = made.take(row);
      if (wrong) throw refusedRow({ who: this.at, at: this.at, page: page.number, index, row: undefined }, wrong.what, wrong);
    }
    return made.done();
  }

  get facts(): StepFacts {
    return { at: this.at, columns: (input) => this.#madeOf(strictest(input)), made: this.#madeOf('personal') };
  }

  #madeOf(strictest: Sensitivity): readonly Column[] | undefined {
    return this.#columns?.map(([name, type, sensitivity = strictest]): Column => ({ name, original: name, type, cast: true, sensitivity }));
  }
}

/** A page of rows under construction. */
class MadePage<U> {
  readonly #rows: U[] = [];
  readonly #names: ReadonlySet<string>;
  readonly #taken: TakenRows;

  constructor(
    private readonly at: string,
    private readonly page: Page<unknown>,
    private readonly columns: Named | undefined,
  ) {
    const names = columns?.map(([name]) => name) ?? [];
    this.#names = new Set(names);
    this.#taken = new TakenRows(names);
  }

  /** Adds a row. @returns What is wrong with it. */
  take(row: U): Refused | undefined {
    if (this.columns === undefined) {
      this.#rows.push(row);
      return undefined;
    }
    if (!isRow(row))
      return { what: `returned ${kindOf(row)}`, remedy: 'columns are declared, so it must return an object with these fields' };
    const unknown = Object.keys(row).find((name) => !this.#names.has(name));
    if (unknown !== undefined) return { what: `returned the field '${unknown}'`, remedy: 'declare it under columns, with its type' };
    for (const [name, type] of this.columns) {
      const wrong = wrongValue(name, type, row[name]);
      // Inherited properties are never valid, and are only checked for here.
      if (wrong !== undefined && fieldOf(row, name) !== undefined)
        return { what: wrong, remedy: `columns declares it as ${type}, which is ${kinds[type]}` };
    }
    this.#taken.take(row);
    return undefined;
  }

  /**
   * @throws {StepError} `E_STEP_FUNCTION` for a row that was changed after it was returned: the change would be missing from the columns.
   */
  done(): Page<U> {
    if (this.columns === undefined) return withRows(this.page, this.#rows);
    const taken = this.#taken;
    const changed = taken.changed();
    if (changed) {
      const { index, field } = changed;
      throw refusedRow({ who: this.at, at: this.at, page: this.page.number, index, row: undefined }, ...changedInPlace(field));
    }
    const vectors = this.columns.map(([name]) => [name, taken.column(name)] as const);
    return withBatch(this.page, new RecordBatch(taken.length, new Map(vectors)));
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
