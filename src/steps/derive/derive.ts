import { map } from 'rxjs';
import { schema, type Row, type Value } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { batchOf, withBatch, type Step } from '../../flow/index.js';
import { FlatVector } from '../../vector/index.js';

/** How a derived value is made: a function of the row. `undefined` counts as `null`. */
export type Derivation<T> = (row: T) => Value | undefined;

const taken = schema((z) => z.strictObject({ derivations: z.record(z.string(), callback()) }));

/**
 * Adds fields computed from each row; a field that exists gets the new value. All see the row as it came in.
 *
 * @param derivations Function by new field.
 * @throws {StepError} `E_STEP_CONFIG`, at once, for what is no function: expressions are for pipeline files.
 *
 * @example
 * leads$.pipe(derive({ zip_prefix: (lead) => lead.zipcode?.slice(0, 3) }));
 * // { zipcode: '10001' }  ->  { zipcode: '10001', zip_prefix: '100' }
 */
export function derive<T extends Row, const D extends Readonly<Record<string, Derivation<T>>>>(
  derivations: D,
): Step<T, T & { readonly [K in keyof D]: Value }> {
  checkArguments('derive', taken, { derivations });
  const added = Object.entries<Derivation<T>>(derivations);
  return map((page) => {
    const values = added.map(([name, derivation]) => [name, new FlatVector(page.rows.map((row) => derivation(row) ?? null))] as const);
    return withBatch(page, batchOf(page).with(values));
  });
}
