import { repeated, strictest, type Column, type DeclaredType } from '../../core/index.js';
import type { ColumnsContext } from '../../flow/index.js';
import { faultsIn, object } from '../../options/index.js';
import { derivedColumns, type Derived } from '../derive/columns.js';
import { columnName, requireColumn } from '../fields.js';
import { columnChecks, contradiction } from './check.js';
import type { AddedColumns, AnyStep } from './declaration.js';

/** The columns of a step for given options. */
export interface StepColumns {
  readonly needs: readonly string[] | undefined;
  readonly adds: AddedColumns;
  readonly removes: readonly string[];
}

/** @throws Whatever a function of the declaration throws, and `TypeError` when it returns something other than the expected list or map. */
export function columnsFor({ needs, adds, removes }: AnyStep, options: unknown): StepColumns {
  const columns = { needs: valueOf(needs, options), adds: valueOf(adds, options), removes: valueOf(removes, options) };
  const [problem = contradiction(columns)] = faultsIn(object(columnChecks), columns);
  if (problem !== undefined) throw new TypeError(problem);
  return { needs: columns.needs, adds: columns.adds ?? {}, removes: columns.removes ?? [] };
}

function valueOf<T>(given: T | ((options: unknown) => T), options: unknown): T {
  return isFunction(given) ? given(options) : given;
}

function isFunction<T>(given: T | ((options: unknown) => T)): given is (options: unknown) => T {
  return typeof given === 'function';
}

export function typeOf(added: AddedColumns[string]): DeclaredType {
  return typeof added === 'string' ? added : added.type;
}

/**
 * Returns the columns that leave a step, and reports problems with the ones that it needs.
 *
 * @param repeats Whether one row can become several.
 */
export function leavingColumns(
  { needs, adds, removes }: StepColumns,
  repeats: boolean,
  input: readonly Column[],
  context: ColumnsContext,
): readonly Column[] {
  for (const name of [...(needs ?? []), ...removes]) requireColumn(name, input, context, []);
  for (const name of Object.keys(adds))
    if (!columnName().safeParse(name).success) context.problem([], `adds '${name}', but a name may contain only a-z, 0-9 and _`);
  // The function gets whole rows, so what it reads besides `needs` is unknown.
  const computedFrom = strictest(input);
  const derived = Object.entries(adds).map(([name, added]): Derived => {
    const own = typeof added === 'string' ? undefined : added.sensitivity;
    return { name, type: typeOf(added), sensitivity: own ?? computedFrom };
  });
  const left = derivedColumns(derived, input).filter(({ name }) => !removes.includes(name));
  return repeats ? repeated(left) : left;
}
