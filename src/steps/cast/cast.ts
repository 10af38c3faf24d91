import { map } from 'rxjs';
import { z } from 'zod';
import { declaredTypes, expectations, parserOf, type DeclaredType, type Row, type Value } from '../../collections/index.js';
import { StepError } from '../../errors.js';
import { reshape, standalone, withRows, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { requireColumn } from '../fields.js';
import { defineStep } from '../step.js';

/** What a cast takes besides the types. */
export interface CastOptions {
  /** What becomes of a row whose value does not cast. Default `reject`. */
  readonly onError?: OnError;
}

/**
 * Turns text into typed values. An empty text is `null` for every type but `text`; a value that does not cast exactly is
 * never guessed. Values that are no text stay as they are.
 *
 * @param types Declared type by field.
 * @throws {StepError} `E_STEP_VALUE` under `onError: 'fail'`, and without a context that takes rejects.
 *
 * @example
 * leads$.pipe(cast({ age: 'integer', yearmonthday: 'date' }));
 * // { age: '41', yearmonthday: '20240229' }  ->  { age: 41n, yearmonthday: 2024-02-29T00:00:00.000Z }
 */
export function cast<T extends Row>(
  types: Readonly<Partial<Record<keyof NoInfer<T> & string, DeclaredType>>>,
  options: CastOptions = {},
  context: StepContext = standalone('cast'),
): Step<T, Row> {
  const { onError = 'reject' } = options;
  const casts = Object.entries<DeclaredType | undefined>(types).flatMap(([field, type]) =>
    type ? [{ field, type, parse: parserOf(type) }] : [],
  );
  const places = new Map(casts.map(({ field }, index) => [field, index]));
  const copy = reshape((names) => new Map(names.map((name) => [name, places.get(name) ?? name])));

  function castRow(row: T): Row | undefined {
    const values: Value[] = [];
    for (const { field, type, parse } of casts) {
      const value = row[field];
      const parsed = typeof value === 'string' ? parse(value) : (value ?? null);
      if (parsed !== undefined) {
        values.push(parsed);
        continue;
      }
      const reason = `is not ${expectations[type]}`;
      if (onError === 'fail') throw new StepError('E_STEP_VALUE', `${context.at}: field ${field} ${reason}`);
      if (onError === 'reject') {
        context.reject(row, { field, reason });
        context.tally.rejected += 1;
        return undefined;
      }
      values.push(null);
      context.tally.nulled += 1;
    }
    return copy(row, values);
  }

  return map((page) =>
    withRows(
      page,
      page.rows.map(castRow).filter((row) => row !== undefined),
    ),
  );
}

export const castStep = defineStep('cast', {
  summary: 'Turns text into typed values, by declared type or as named.',
  config: z.strictObject({
    types: z.record(z.string(), z.enum(declaredTypes)).optional().describe('Type by field. Default: every field by its declared type.'),
    on_error: z
      .enum(['reject', 'null', 'fail'])
      .optional()
      .describe("What becomes of a row whose value does not cast. Default: the pipeline's on_error."),
  }),
  examples: [{}, { types: { age: 'integer' }, on_error: 'null' }],
  columns: ({ types }, input, plan) => {
    for (const name of Object.keys(types ?? {})) {
      const column = requireColumn(name, input, plan, ['types', name]);
      if (column?.cast) plan.problem(['types', name], `field '${name}' is ${column.type} already`);
    }
    return input.map((column) => {
      if (column.cast) return column;
      if (!types) return { ...column, cast: true };
      const type = Object.hasOwn(types, column.name) ? types[column.name] : undefined;
      return type ? { ...column, type, cast: true } : column;
    });
  },
  open: ({ types, on_error }, runtime) => {
    const declared = Object.fromEntries(runtime.input.filter((column) => !column.cast).map(({ name, type }) => [name, type]));
    return cast(types ?? declared, { onError: on_error ?? runtime.onError }, runtime);
  },
});
