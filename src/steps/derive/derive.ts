import { map } from 'rxjs';
import type { z } from 'zod';
import { declaredTypes, schema, strictest, type Column, type DeclaredType, type Row, type Value, type ValueOf } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { ofEachRow, withBatch, type Page, type Step } from '../../flow/index.js';
import { FlatVector, ownValue } from '../../vector/index.js';
import type { Expression } from '../expression/expression.js';
import { columnName, sensitivityOf } from '../fields.js';
import { expressions, evaluating } from '../evaluation.js';
import { builtInStep, stepOf } from '../step.js';

/**
 * How a derived value is computed: a function of the row that returns text, or one with another declared type, so that whatever writes the column
 * knows its type before the first value. `undefined` counts as `null`.
 */
export type Derivation<T> = ((row: T) => Value | undefined) | TypedDerivation<T>;

type TypedDerivation<T> = {
  readonly [D in DeclaredType]: { readonly type: D; readonly of: (row: T) => ValueOf[D] | null | undefined };
}[DeclaredType];

/** A row type with derived fields, typed by their functions. */
export type WithDerived<T, D> = Omit<T, keyof D> & { readonly [K in keyof D]: ResultOf<D[K]> };

type ResultOf<D> = D extends (...row: never[]) => infer V
  ? Defined<V>
  : D extends { readonly of: (...row: never[]) => infer V }
    ? Defined<V>
    : never;

type Defined<V> = undefined extends V ? Exclude<V, undefined> | null : V;

const parameters = schema((z) =>
  z.strictObject({
    derivations: z.record(z.string(), z.union([callback(), z.strictObject({ type: z.enum(declaredTypes), of: callback() })])),
  }),
);

/**
 * Adds fields computed from each row, or overwrites existing ones. All functions see the row as it came in.
 *
 * @param derivations A function by new field, or a type and a function.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for anything that is not a function: expressions are for pipeline files. `E_STEP_FUNCTION`, from the
 * stream, when a function throws (with the thrown value as the `cause`) or returns a promise, as in `mapRows`.
 *
 * @example
 * service.leads.pipe(
 *   derive({ zip_prefix: (lead) => lead.zipcode?.slice(0, 3), decade: { type: 'integer', of: (lead) => BigInt(lead.age ?? 0) / 10n } }),
 * );
 * // { zipcode: '10001', age: '41' }  ->  { zipcode: '10001', age: '41', zip_prefix: '100', decade: 4n }
 */
export function derive<T extends Row, const D extends Readonly<Record<string, Derivation<T>>>>(derivations: D): Step<T, WithDerived<T, D>> {
  checkArguments('derive', parameters, { derivations });
  return stepOf(deriveStep, derivations as DeriveConfig, []);
}

/** By new field: the expression of a file, or the function of a program. */
type DeriveConfig = Readonly<Record<string, string | Derivation<never>>>;

export const deriveStep = builtInStep('derive', {
  summary: 'Adds fields computed by expressions (CEL) from the fields that the row had before the step.',
  config: (z): z.ZodType<DeriveConfig> => z.record(columnName(), z.string().min(1)).describe('Expression by new field.'),
  examples: [{ zip_city: 'zip_city(zipcode)', zip_state: 'zip_state(zipcode)' }],
  columns: (config, input, plan) => {
    const derived = Object.entries(config).map(([name, source]): Derived => {
      if (typeof source === 'function') return { name, type: 'text', sensitivity: strictest(input) };
      if (typeof source === 'object') return { name, type: source.type, sensitivity: strictest(input) };
      const expression = expressions().planExpression(source, input, plan, [name], Object.keys(config));
      return { name, type: expression?.type ?? 'text', sensitivity: sensitivityOf(source, input), origin: source };
    });
    return derivedColumns(derived, input);
  },
  open: (config, runtime) => {
    const compiled = new Map<string, Expression>();
    const functions = new Map<string, (row: never) => Value | undefined>();
    for (const [name, source] of Object.entries(config)) {
      if (typeof source === 'string') compiled.set(name, expressions().openExpression(source, runtime));
      else functions.set(name, typeof source === 'function' ? source : source.of);
    }
    const evaluate = evaluating(compiled, runtime);
    return map((page) => {
      const { batch, columns } = evaluate(page);
      const values = Array.from(functions, ([name, of]) => {
        const derived = ofEachRow(page as Page<never>, { at: runtime.at, name, of: (row) => ownValue(of(row) ?? null) });
        return [name, new FlatVector(derived)] as const;
      });
      return withBatch(page, batch.with([...columns, ...values]));
    });
  },
});

type Derived = Pick<Column, 'name' | 'type' | 'sensitivity' | 'origin'>;

/** Returns the columns that leave the step. An overwritten column keeps its position. */
export function derivedColumns(derived: readonly Derived[], input: readonly Column[]): readonly Column[] {
  const added = derived.map(({ name, type, sensitivity, origin }): Column => {
    const original = input.find((column) => column.name === name)?.original ?? name;
    return { name, original, type, cast: true, sensitivity, origin };
  });
  return [...new Map([...input, ...added].map((column) => [column.name, column])).values()];
}
