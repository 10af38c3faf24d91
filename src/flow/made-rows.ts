import { declaredTypes, sensitivities, strictest, type Column, type DeclaredType, type Row, type Sensitivity } from '../core/index.js';
import type { Value, ValueOf } from '../core/index.js';
import { check, checkGiven, kindOf, object, oneOf, type Check } from '../options/index.js';
import { fieldOf, FlatVector, ownValue, RecordBatch } from '../vector/index.js';
import { withBatch, withRows, type Page } from './page.js';
import { refusedRow, type Refused } from './row-function.js';
import type { StepNode } from './chain.js';

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

/** Columns that a program declares, by name. */
export type NamedColumns = Readonly<
  Record<string, DeclaredType | { readonly type: DeclaredType; readonly sensitivity?: Sensitivity | undefined }>
>;

const type = oneOf(declaredTypes);
const detailed = object({ type, sensitivity: oneOf(sensitivities) }, ['type']);

const map = check("a map of names to types, like { euro: 'decimal' }", (value) => isRecord(value) && !Array.isArray(value));

/** Checks for columns by name, as declared for functions that create them. */
export const declaredColumns: Check = (value, place) => {
  const wrong = map(value, place);
  if (wrong.length > 0 || !isRecord(value)) return wrong;
  return Object.entries(value).flatMap(([name, one]) =>
    /^(?!__proto__$)[a-z_][a-z0-9_]*$/.test(name)
      ? (isRecord(one) ? detailed : type)(one, `${place}.${name}`)
      : [`${place}: a column name may contain only a-z, 0-9 and _, unlike '${name}'`],
  );
};

const madeOptions = object({ columns: declaredColumns });

/** Returns the declared type of a column. */
function typeOf(declared: NamedColumns[string]): DeclaredType {
  return typeof declared === 'string' ? declared : declared.type;
}

/** Returns the columns as declared. @param sensitivity That of columns without one of their own. */
export function columnsNamed(columns: NamedColumns, sensitivity: Sensitivity): readonly Column[] {
  return Object.entries(columns).map(([name, one]) => ({
    ...{ name, original: name, type: typeOf(one), cast: true },
    sensitivity: (typeof one === 'string' ? undefined : one.sensitivity) ?? sensitivity,
  }));
}

/** The values of declared columns, taken from the rows that a function returns. What happens to a row afterwards has no effect on them. */
export class DeclaredValues {
  readonly #columns: readonly { readonly name: string; readonly type: DeclaredType; readonly values: Value[] }[];

  constructor(columns: NamedColumns) {
    this.#columns = Object.entries(columns).map(([name, declared]) => ({ name, type: typeOf(declared), values: [] }));
  }

  /** Takes the values of a row; inherited properties do not count as fields. @returns What is wrong with one of them. */
  take(row: Row): Refused | undefined {
    for (const { name, type, values } of this.#columns) {
      const value = (fieldOf(row, name) ?? null) as Value;
      if (value !== null && !holds[type](value))
        return { what: `returned ${kindOf(value)} in the field '${name}'`, remedy: `it is declared as ${type}, which is ${kinds[type]}` };
      values.push(ownValue(value));
    }
    return undefined;
  }

  /** Returns the columns of the rows so far. */
  columns(): readonly (readonly [name: string, vector: FlatVector])[] {
    return this.#columns.map(({ name, values }) => [name, new FlatVector(values)]);
  }
}

/** Creates pages of the results of a program's function, and checks them against the declared columns. */
export class MadeRows<U> {
  readonly #columns: NamedColumns | undefined;

  /**
   * @param at Name of the step in messages.
   * @throws {StepError} `E_STEP_CONFIG` for invalid options.
   */
  constructor(
    private readonly at: string,
    options: MadeOptions<U>,
  ) {
    checkGiven(at, madeOptions, options);
    this.#columns = options.columns;
  }

  /** Starts a page. */
  begin(): MadePage<U> {
    return new MadePage(this.#columns);
  }

  /**
   * @throws {StepError} `E_STEP_FUNCTION` for a result that is not a row, a field without a column, and a value of another type.
   */
  page(page: Page<unknown>, rows: readonly U[]): Page<U> {
    const made = this.begin();
    for (const [index, row] of rows.entries()) {
      const wrong = made.take(row);
      if (wrong) throw refusedRow({ who: this.at, at: this.at, page: page.number, index, row: undefined }, wrong.what, wrong);
    }
    return made.done(page);
  }

  get node(): Omit<StepNode, 'opened'> {
    const columns = this.#columns;
    return {
      at: this.at,
      columns: (input) => columns && columnsNamed(columns, strictest(input)),
      made: columns && columnsNamed(columns, 'personal'),
    };
  }
}

/** A page of rows under construction. */
export class MadePage<U> {
  readonly #rows: U[] = [];
  readonly #values: DeclaredValues;

  constructor(private readonly columns: NamedColumns | undefined) {
    this.#values = new DeclaredValues(columns ?? {});
  }

  /** Adds a row. @returns What is wrong with it. */
  take(row: U): Refused | undefined {
    this.#rows.push(row);
    const { columns } = this;
    if (columns === undefined) return undefined;
    if (!isRow(row))
      return { what: `returned ${kindOf(row)}`, remedy: 'columns are declared, so it must return an object with these fields' };
    const unknown = Object.keys(row).find((name) => !Object.hasOwn(columns, name));
    if (unknown !== undefined) return { what: `returned the field '${unknown}'`, remedy: 'declare it under columns, with its type' };
    return this.#values.take(row);
  }

  /** Returns the page, in place of another one. */
  done(page: Page<unknown>): Page<U> {
    if (this.columns === undefined) return withRows(page, this.#rows);
    return withBatch(page, new RecordBatch(this.#rows.length, new Map(this.#values.columns())));
  }
}

/** The JavaScript values of each declared type. */
const kinds: Readonly<Record<DeclaredType, string>> = {
  text: 'a string',
  flag: 'a boolean',
  integer: 'a bigint of 64 bits',
  decimal: 'a finite number',
  timestamp: 'a valid Date',
  date: 'a Date at midnight UTC',
};

/** Whether a value has a declared type. */
const holds: { readonly [T in DeclaredType]: (value: Value) => boolean } = {
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  integer: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  decimal: (value) => typeof value === 'number' && Number.isFinite(value),
  timestamp: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
  date: (value) => value instanceof Date && value.getTime() % 86_400_000 === 0,
};

/** Returns whether a value is a row: an object with fields. */
export function isRow(value: unknown): value is Row {
  return isRecord(value) && !Array.isArray(value) && !(value instanceof Date);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
