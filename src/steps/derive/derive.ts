import { map } from 'rxjs';
import { declaredTypes, schema, strictest, type Column, type DeclaredType, type Row, type Value, type ValueOf } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { batchOf, ofEachRow, withBatch, withNode, type Step } from '../../flow/index.js';
import { FlatVector, ownValue } from '../../vector/index.js';

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

const taken = schema((z) =>
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
  checkArguments('derive', taken, { derivations });
  const added = Object.entries<Derivation<T>>(derivations).map(([name, derivation]) =>
    typeof derivation === 'function' ? { name, type: 'text' as const, of: derivation } : { name, type: derivation.type, of: derivation.of },
  );
  const deriving: Step<T, WithDerived<T, D>> = map((page) => {
    const values = added.map(({ name, of }) => {
      const derived = ofEachRow(page, { at: 'derive', name, of: (row: T) => ownValue(of(row) ?? null) });
      return [name, new FlatVector(derived)] as const;
    });
    return withBatch(page, batchOf(page).with(values));
  });
  return withNode(deriving, {
    at: 'derive',
    columns: (input) => {
      const sensitivity = strictest(input);
      return derivedColumns(
        added.map(({ name, type }) => ({ name, type, sensitivity })),
        input,
      );
    },
  });
}

/** A column that `derive` adds or overwrites. */
export interface Derived {
  readonly name: string;
  readonly type: DeclaredType;
  readonly sensitivity: Column['sensitivity'];
}

/** Returns the columns that leave the step. An overwritten column keeps its position. */
export function derivedColumns(derived: readonly Derived[], input: readonly Column[]): readonly Column[] {
  const added = derived.map(({ name, type, sensitivity }): Column => {
    const original = input.find((column) => column.name === name)?.original ?? name;
    return { name, original, type, cast: true, sensitivity };
  });
  return [...new Map([...input, ...added].map((column) => [column.name, column])).values()];
}
