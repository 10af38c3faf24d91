import { declaredTypes, isObject, LeadstreamError, sensitivities, StepError, strictest, whatWasThrown } from '../core/index.js';
import type { Column, DeclaredType, Row, Sensitivity, Value, ValueOf } from '../core/index.js';
import { check, checkGiven, kindOf, object, oneOf, type Check } from '../options/index.js';
import { fieldOf, FlatVector, ownValue, RecordBatch } from '../vector/index.js';
import { isBatchPage, rowsOf, withBatch, withRows, type Page } from './page.js';
import { failureAt, type RowPlace } from './row-failure.js';

interface FunctionPlace extends RowPlace {
  /** The function, like `derive: zip_prefix`, or only the step. */
  readonly who: string;
}

/** What a function did wrong, following `the function`, and the remedy. */
export interface Refused {
  readonly what: string;
  readonly remedy?: string;
  readonly cause?: unknown;
}

interface RowFunction<T, R> {
  readonly at: string;
  /** Name of the function. Default: the step has only one. */
  readonly name?: string | undefined;
  of(row: T): R;
  /** Returns what is wrong with the result for a row. Default: only promises are refused. */
  refused?(result: R, row: T): Refused | undefined;
}

/** Calls a function for every row of a page. @throws {StepError} `E_STEP_FUNCTION` if it throws or its result is refused. */
export function ofEachRow<T, R>(page: Page<T>, { at, name, of, refused = refusedPromise }: RowFunction<T, R>): R[] {
  const who = name === undefined ? at : `${at}: ${name}`;
  return rowsOf(page).map((row, index) => {
    const place = { who, at, page: page.number, index, row };
    let result: R;
    try {
      result = of(row);
    } catch (thrown) {
      if (thrown instanceof LeadstreamError) throw thrown;
      throw refusedRow(place, { what: `threw ${whatWasThrown(thrown)}`, cause: thrown });
    }
    const wrong = refused(result, row);
    if (wrong) throw refusedRow(place, wrong);
    return result;
  });
}

/** Keeps the rows that satisfy a condition of a program. @throws {StepError} As `ofEachRow`. */
export function keepRows<T>(page: Page<T>, condition: (row: T) => boolean, at: string): Page<T> {
  const holds = ofEachRow(page, { at, of: condition, refused: refusedCondition });
  const keeps = (index: number) => holds[index] === true;
  if (isBatchPage(page)) return withBatch(page, page.batch.filter(keeps));
  const kept = page.rows.filter((_, index) => keeps(index));
  return withRows(page, kept);
}

export function refusedPromise(result: unknown): Refused | undefined {
  return isObject(result) && typeof result.then === 'function'
    ? { what: 'returned a promise', remedy: 'a step does not wait for it; mapAsync does' }
    : undefined;
}

/** Refuses anything but a boolean: a promise or a text (even `no`) is true, and the value of a misspelled field is false, for all rows. */
export function refusedCondition(result: unknown): Refused | undefined {
  if (typeof result === 'boolean') return undefined;
  const remedy = "a condition must return true or false, like lead.lead_status === 'sold'";
  return refusedPromise(result) ?? { what: `returned ${kindOf(result)}`, remedy };
}

export function refusedRow({ who, ...place }: FunctionPlace, { what, remedy, cause }: Refused): StepError {
  return failureAt(place, (row) => {
    const message = `${who}: the function ${what} for ${row}${remedy === undefined ? '' : `; ${remedy}`}`;
    return new StepError('E_STEP_FUNCTION', message, cause === undefined ? {} : { cause });
  });
}

type TypeFor<V> = { [T in DeclaredType]: NonNullable<V> extends ValueOf[T] ? T : never }[DeclaredType];

type Declared<T extends DeclaredType> = T | { readonly type: T; readonly sensitivity?: Sensitivity | undefined };

/** The columns of rows that a function creates: type by name, with an optional sensitivity. */
export type MadeColumns<U> = { readonly [K in keyof U & string]-?: Declared<TypeFor<U[K]>> };

/** What is declared about the rows that a function creates. */
export interface MadeOptions<U> {
  /**
   * All columns of the rows, for steps and `writeTo`. `undefined` and missing fields count as `null`. Default: unknown. Default
   * sensitivity: the strictest of the input, or `personal` if that is unknown.
   */
  readonly columns?: MadeColumns<U> | undefined;
}

export type NamedColumns = Readonly<Record<string, Declared<DeclaredType>>>;

const type = oneOf(declaredTypes);
const detailed = object({ type, sensitivity: oneOf(sensitivities) }, ['type']);

const byName = check("a map of names to types, like { euro: 'decimal' }", (value) => isObject(value) && !Array.isArray(value));

/** Checks for columns by name, as declared for functions that create them. */
export const declaredColumns: Check = (value, place) => {
  const wrong = byName(value, place);
  if (wrong.length > 0 || !isObject(value)) return wrong;
  return Object.entries(value).flatMap(([name, one]) =>
    /^(?!__proto__$)[a-z_][a-z0-9_]*$/.test(name)
      ? (isObject(one) ? detailed : type)(one, `${place}.${name}`)
      : [`${place}: a column name may contain only a-z, 0-9 and _, unlike '${name}'`],
  );
};

function typeOf(declared: NamedColumns[string]): DeclaredType {
  return typeof declared === 'string' ? declared : declared.type;
}

/** Returns the declared columns. @param sensitivity Of columns without one. */
export function columnsNamed(columns: NamedColumns, sensitivity: Sensitivity): readonly Column[] {
  return Object.entries(columns).map(([name, one]) => ({
    ...{ name, original: name, type: typeOf(one), cast: true },
    sensitivity: (typeof one === 'string' ? undefined : one.sensitivity) ?? sensitivity,
  }));
}

/** The values of declared columns in the rows that a function returns, which later changes to a row do not affect. */
export class DeclaredValues {
  readonly #columns: readonly { readonly name: string; readonly type: DeclaredType; readonly values: Value[] }[];

  constructor(columns: NamedColumns) {
    this.#columns = Object.entries(columns).map(([name, declared]) => ({ name, type: typeOf(declared), values: [] }));
  }

  /** Takes the values of a row, without inherited properties. @returns What is wrong with one of them. */
  take(row: Row): Refused | undefined {
    for (const { name, type, values } of this.#columns) {
      const value = (fieldOf(row, name) ?? null) as Value;
      if (value !== null && !kinds[type].holds(value))
        return {
          what: `returned ${kindOf(value)} in the field '${name}'`,
          remedy: `it is declared as ${type}, which is ${kinds[type].words}`,
        };
      values.push(ownValue(value));
    }
    return undefined;
  }

  columns(): readonly (readonly [name: string, vector: FlatVector])[] {
    return this.#columns.map(({ name, values }) => [name, new FlatVector(values)]);
  }
}

const madeOptions = object({ columns: declaredColumns });

/** Returns what a chain knows of a step that creates rows, and a function that begins a page. @throws {StepError} `E_STEP_CONFIG`. */
export function madeRows<U>(at: string, options: MadeOptions<U>) {
  checkGiven(at, madeOptions, options);
  const columns: NamedColumns | undefined = options.columns;
  const node = {
    at,
    columns: (input: readonly Column[]) => columns && columnsNamed(columns, strictest(input)),
    made: columns && columnsNamed(columns, 'personal'),
  };
  return { node, begin: () => new MadePage<U>(columns) };
}

class MadePage<U> {
  readonly #rows: U[] = [];
  readonly #values;

  constructor(private readonly columns: NamedColumns | undefined) {
    this.#values = new DeclaredValues(columns ?? {});
  }

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

  /** Returns the page that takes another one's place. */
  done(page: Page<unknown>): Page<U> {
    if (this.columns === undefined) return withRows(page, this.#rows);
    return withBatch(page, new RecordBatch(this.#rows.length, new Map(this.#values.columns())));
  }
}

const kinds: Readonly<Record<DeclaredType, { readonly words: string; holds(value: Value): boolean }>> = {
  text: { words: 'a string', holds: (value) => typeof value === 'string' },
  flag: { words: 'a boolean', holds: (value) => typeof value === 'boolean' },
  integer: { words: 'a bigint of 64 bits', holds: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value },
  decimal: { words: 'a finite number', holds: (value) => typeof value === 'number' && Number.isFinite(value) },
  timestamp: { words: 'a valid Date', holds: (value) => value instanceof Date && !Number.isNaN(value.getTime()) },
  date: { words: 'a Date at midnight UTC', holds: (value) => value instanceof Date && value.getTime() % 86_400_000 === 0 },
};

export function isRow(value: unknown): value is Row {
  return isObject(value) && !Array.isArray(value) && !(value instanceof Date);
}
