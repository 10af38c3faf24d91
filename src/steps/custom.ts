import { defer, map } from 'rxjs';
import { LeadstreamError, reasonOf, markRepeated, StepError, strictest, whatWasThrown } from '../core/index.js';
import type { DeclaredType, Row, Value, ValueOf } from '../core/index.js';
import { batchOf, columnsNamed, declaredColumns, DeclaredValues, isRow, ofEachRow, refusedPromise, withBatch } from '../flow/index.js';
import type { NamedColumns, Page, Refused, Step, StepContext } from '../flow/index.js';
import { checkGiven, extended, extensionConfig, extensionOf, kindOf, object, texts } from '../options/index.js';
import type { Extension, ExtensionDeclaration } from '../options/index.js';
import { derivedColumns } from './derive/derive.js';
import { requireColumn, takeRows } from './fields.js';
import { stepOf, type StepDefinition } from './step.js';

/** The columns that a step adds: type and sensitivity by name. Default: the strictest sensitivity, since the function sees all columns. */
export type AddedColumns = NamedColumns;

type Of<O, T> = T | ((options: O) => T);

type Given = GivenRow | readonly GivenRow[] | null | undefined;
type GivenRow = Readonly<Record<string, Value | undefined>>;

/** What a custom step gets in addition to its options. */
export interface CustomStepContext {
  /** Name in messages, like `steps[1] convert`. */
  readonly at: string;
}

/**
 * A custom step: rows in, rows out, one at a time and synchronously. Fields that `adds` does not list must leave unchanged.
 * @typeParam I Options as passed by the caller. @typeParam O Options after validation. @typeParam A What it adds. @typeParam R What it
 * removes.
 */
export interface StepDeclaration<I, O, A extends AddedColumns, R extends string> extends ExtensionDeclaration<I, O> {
  /** Columns that it reads, so that a file without one of them is refused before any request. Default: any. */
  readonly needs?: Of<O, readonly string[]> | undefined;
  /** Columns that it adds or overwrites. `undefined` and missing fields count as `null`. Default: none. */
  readonly adds?: Of<O, A> | undefined;
  /** Columns that it removes; the function need not delete the fields. Default: none. */
  readonly removes?: Of<O, readonly R[]> | undefined;
  /** How many rows a row may become: `same`: exactly one; `fewer`: one or none; `any`: also a list of several. Default `same`. */
  readonly rows?: 'same' | 'fewer' | 'any' | undefined;
  /**
   * Called once per read. Returns the function that is called with every row, in order. Rows are frozen: it returns new ones, like `{
   * ...row, … }`, or the row itself. A row left out counts as filtered.
   */
  open(options: O, context: CustomStepContext): (row: Row) => Given;
}

/** A row after a step that adds and removes columns; any row if the names are known only at run time. */
export type Stepped<T, A extends AddedColumns, R extends string> = [keyof A | R] extends [never]
  ? T
  : string extends keyof A | R
    ? Row
    : Omit<T, keyof A | R> & { readonly [K in keyof A]: ValueOf[TypeIn<A[K]>] | null };

type TypeIn<D> = D extends DeclaredType ? D : D extends { readonly type: infer T extends DeclaredType } ? T : never;

type AnyStep = StepDeclaration<unknown, unknown, AddedColumns, string>;

/** The result of `defineStep`: a function that makes the step from its options, and a definition for pipeline files. */
export interface CustomStep<I = never, A extends AddedColumns = AddedColumns, R extends string = string> extends Extension<
  'step',
  unknown
> {
  /**
   * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid options. `E_STEP_FUNCTION`, from the stream, if a function of the step
   * throws (this is the `cause`) or returns something invalid.
   */
  <T extends Row>(...options: undefined extends I ? [options?: I] : [options: I]): Step<T, Stepped<T, A, R>>;
}

/**
 * Defines a custom step for programs and pipeline files.
 *
 * @param name Name in files, of a-z, 0-9 and `_`.
 * @returns A function that makes the step from its options; also for `loadPipeline(file, { steps: [it] })` and `leadstream run --plugin`.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for an invalid name.
 *
 * @example
 * const inEuro = defineStep('in_euro', {
 *   version: '1',
 *   options: z.object({ field: z.string(), rate: z.number().positive() }),
 *   needs: ({ field }) => [field],
 *   adds: { euro: 'decimal' },
 *   open: ({ field, rate }) => (row) => ({ ...row, euro: Number(row[field]) * rate }),
 * });
 * service.collection('orders').pipe(inEuro({ field: 'total', rate: 0.92 }));
 * // { no: '7', total: '100' }  ->  { no: '7', total: '100', euro: 92 }
 * // in a file: - in_euro: { field: total, rate: 0.92 }
 */
export function defineStep<
  O = undefined,
  I = O,
  const A extends AddedColumns = Readonly<Record<never, never>>,
  const R extends string = never,
>(name: string, declaration: StepDeclaration<I, O, A, R>): CustomStep<I, A, R> {
  // Only the declaration needs the types of options and columns.
  const step = declaration as unknown as AnyStep;
  const make = (options: () => unknown): Step => stepOf(definitionOf(name, step), options(), []);
  return extended('step', name, step, (problem) => new StepError('E_STEP_CONFIG', problem), make) as unknown as CustomStep<I, A, R>;
}

/** Returns the definition of a custom step for pipeline files; `undefined` for other values. */
export function customStepOf(value: unknown): StepDefinition | undefined {
  const extension = extensionOf('step', value);
  // `defineStep` checked it, in this copy of leadstream or another.
  return extension && definitionOf(extension.name, extension.declaration as AnyStep);
}

function definitionOf(name: string, step: AnyStep): StepDefinition {
  const { summary = 'A step from a plug-in.', version = '' } = step;
  return {
    ...{ name, summary, examples: [], version },
    config: () => extensionConfig(step.options),
    columns: (options, input, plan) => {
      let columns;
      try {
        columns = columnsFor(name, step, options);
      } catch (thrown) {
        plan.problem([], reasonOf(thrown));
        return input;
      }
      const { needs, adds, removes } = columns;
      for (const field of [...needs, ...removes]) requireColumn(field, input, plan, []);
      const stay = input.filter((column) => !removes.includes(column.name));
      const left = derivedColumns(columnsNamed(adds, strictest(input)), stay);
      return step.rows === 'any' ? markRepeated(left) : left;
    },
    open: (options, { at, tally }) => {
      const columns = columnsFor(name, step, options);
      return (pages$) =>
        defer(() => {
          const of = openedBy(step, options, at);
          return pages$.pipe(map((page) => stepped(page, of, step.rows ?? 'same', columns, { at, tally })));
        });
    },
  };
}

const columnChecks = object({ needs: texts(), adds: declaredColumns, removes: texts() });

/** @throws {StepError} `E_STEP_CONFIG` if they are invalid. @throws What a function of the declaration throws. */
function columnsFor(name: string, { needs, adds, removes }: AnyStep, options: unknown) {
  const valueOf = <T>(given: Of<unknown, T> | undefined, none: T): T => {
    const value = typeof given === 'function' ? (given as (options: unknown) => T)(options) : given;
    return value === undefined ? none : value;
  };
  const columns = { needs: valueOf(needs, []), adds: valueOf(adds, {}), removes: valueOf(removes, []) };
  checkGiven(name, columnChecks, columns);
  return columns;
}

function openedBy(step: AnyStep, options: unknown, at: string): (row: Row) => unknown {
  try {
    return step.open(options, { at });
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw new StepError('E_STEP_FUNCTION', `${at}: open threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}

/** Runs the step on a page, and checks its results against its declaration. */
function stepped(
  page: Page,
  of: (row: Row) => unknown,
  most: 'same' | 'fewer' | 'any',
  { adds, removes }: ReturnType<typeof columnsFor>,
  { at, tally }: Pick<StepContext, 'at' | 'tally'>,
): Page {
  const batch = batchOf(page);
  const stay = [...batch.columns.keys()].filter((name) => !removes.includes(name));
  const unchanged = stay.filter((name) => !Object.hasOwn(adds, name));
  const known = new Set([...batch.columns.keys(), ...Object.keys(adds)]);
  const values = new DeclaredValues(adds);
  const places: number[] = [];
  let row = 0;

  function wrongRow(given: unknown, source: Row): Refused | undefined {
    if (!isRow(given)) return { what: `returned ${kindOf(given)}`, remedy: 'return a row, like { ...row }' };
    const other = unchanged.find((name) => !isSame(given[name], source[name])) ?? Object.keys(given).find((name) => !known.has(name));
    if (other === undefined) return values.take(given);
    if (!Object.hasOwn(given, other))
      return { what: `left out the field '${other}'`, remedy: 'return { ...row, … }, or list it under removes' };
    return { what: `${known.has(other) ? 'changed' : 'added'} the field '${other}'`, remedy: 'list it under adds, with its type' };
  }

  function refused(given: unknown, source: Row): Refused | undefined {
    const some: readonly unknown[] = Array.isArray(given) ? given : given === null || given === undefined ? [] : [given];
    const wrong = refusedPromise(given) ?? wrongCount(some.length, most);
    if (wrong) return wrong;
    for (const each of some) {
      const fault = wrongRow(each, source);
      if (fault) return fault;
      places.push(row);
    }
    if (some.length === 0) tally.filtered += 1;
    else tally.expanded += some.length - 1;
    row += 1;
    return undefined;
  }

  ofEachRow(withBatch<Row>(page, batch), { at, of, refused });
  return withBatch(page, takeRows(batch.select(stay), places).with(values.columns()));
}

function wrongCount(count: number, most: 'same' | 'fewer' | 'any'): Refused | undefined {
  if (count === 0 && most === 'same') return { what: 'returned no row', remedy: "declare rows: 'fewer' if the step leaves rows out" };
  if (count < 2 || most === 'any') return undefined;
  return { what: `returned ${count} rows`, remedy: "declare rows: 'any' if the step returns several" };
}

function isSame(one: unknown, other: unknown): boolean {
  return Object.is(one, other) || (one instanceof Date && other instanceof Date && Object.is(one.getTime(), other.getTime()));
}
