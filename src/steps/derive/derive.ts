import { map } from 'rxjs';
import { z } from 'zod';
import type { Column, Row, Value } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { batchOf, withBatch, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { FlatVector } from '../../vector/index.js';
import { openExpression, planExpression } from '../expression/configured.js';
import type { Expression } from '../expression/expression.js';
import { columnName } from '../fields.js';
import { evaluating } from '../on-error.js';
import { defineStep } from '../step.js';

/** How a derived value is made: a function of the row. `undefined` counts as `null`. */
export type Derivation<T> = (row: T) => Value | undefined;

const taken = z.strictObject({ derivations: z.record(z.string(), callback) });

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

/** The same by expressions, whose failing rows follow `onError`. */
function deriveExpressions(expressions: ReadonlyMap<string, Expression>, onError: OnError, context: StepContext): Step {
  const evaluate = evaluating(expressions, onError, context);
  return map((page) => {
    const { batch, columns } = evaluate(batchOf(page));
    return withBatch(page, batch.with(columns));
  });
}

export const deriveStep = defineStep('derive', {
  summary: 'Adds fields computed by expressions (CEL) from the fields that the row had before the step.',
  config: z.record(columnName, z.string().min(1)).describe('Expression by new field.'),
  examples: [{ zip_city: 'zip_city(zipcode)', zip_state: 'zip_state(zipcode)' }],
  columns: (sources, input, plan) => {
    const derived = Object.entries(sources).map(([name, source]): Column => {
      const expression = planExpression(source, input, plan, [name]);
      const original = input.find((column) => column.name === name)?.original ?? name;
      return { name, original, type: expression?.type ?? 'text', cast: true, sensitivity: sensitivityOf(source, input) };
    });
    return [...new Map([...input, ...derived].map((column) => [column.name, column])).values()];
  },
  open: (sources, runtime) => {
    const expressions = Object.entries(sources).map(([name, source]) => [name, openExpression(source, runtime.input, runtime.at)] as const);
    return deriveExpressions(new Map(expressions), runtime.onError, runtime);
  },
});

/** What is computed from personal or secret fields is as sensitive as they are. */
function sensitivityOf(source: string, input: readonly Column[]): Column['sensitivity'] {
  const words = new Set(source.match(/\w+/g));
  const used = input.filter(({ name }) => words.has(name)).map(({ sensitivity }) => sensitivity);
  if (used.includes('secret')) return 'secret';
  return used.includes('personal') ? 'personal' : 'plain';
}
