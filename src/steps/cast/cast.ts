import { map } from 'rxjs';
import { declaredTypes, misfit, parserOf, type DeclaredType, type Row, type ValueOf } from '../../core/index.js';
import { batchOf, withBatch, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { mapping, Unfit, type Mapped, type Vector } from '../../vector/index.js';
import { keptRows } from '../evaluation.js';
import { checkedConfig, builtInStep, stepOf } from '../step.js';
import { type WithoutUndefined, onErrorKey, requireColumn } from '../fields.js';

/** Options of `cast` besides the types. */
export interface CastOptions {
  /** What happens to a row with a value that does not cast. Default `reject`. */
  readonly onError?: OnError | undefined;
}

type Types<T> = Readonly<Partial<Record<keyof T & string, DeclaredType>>>;

/** A row type with some fields cast: their text becomes a value of the declared type or `null`; other values keep their type. */
export type Casted<T, C> = { readonly [F in keyof T]: F extends keyof C ? CastedValue<T[F], C[F]> : T[F] };

type CastedValue<V, D> = V extends string ? (D extends DeclaredType ? ValueOf[D] | null : V) : V;

type OnlyOf<T, C> = { readonly [F in Exclude<keyof C, keyof T>]: never };

/**
 * Turns text into typed values. An empty text becomes `null` for every type but `text`; a value that does not cast exactly is never
 * guessed. Values that are not text stay as they are.
 *
 * @param types Declared type by field.
 * @throws {StepError} `E_STEP_VALUE` under `onError: 'fail'`, and without a context that takes rejects; `E_STEP_FIELD` if no row of a
 * non-empty page has a named field.
 *
 * @example
 * service.leads.pipe(cast({ age: 'integer', yearmonthday: 'date' }));
 * // { age: '41', yearmonthday: '20240229' }  ->  { age: 41n, yearmonthday: 2024-02-29T00:00:00.000Z }
 */
export function cast<T extends Row, const C extends Types<NoInfer<T>> = Types<T>>(
  types: C & OnlyOf<NoInfer<T>, C> & WithoutUndefined<C>,
  options: CastOptions = {},
  context?: StepContext,
): Step<T, Casted<T, C>> {
  return stepOf(castStep, checkedConfig(castStep, { types }, options, context), Object.keys(types), context);
}

function casting(type: DeclaredType): (vector: Vector) => Mapped {
  const parse = parserOf(type);
  return mapping(
    (value) => {
      const parsed = typeof value === 'string' ? parse(value) : value;
      return parsed === undefined ? new Unfit(misfit(type)) : parsed;
    },
    { keepsBytes: type === 'text', most: maxRemembered },
  );
}

const maxRemembered = 16_384;

export const castStep = builtInStep('cast', {
  summary: 'Casts text to typed values, by the declared types or those named.',
  config: (z) =>
    z.strictObject({
      types: z.record(z.string(), z.enum(declaredTypes)).optional().describe('Type by field. Default: every field by its declared type.'),
      on_error: onErrorKey(z, 'whose value does not cast'),
    }),
  examples: [{}, { types: { age: 'integer' }, on_error: 'null' }],
  columns: ({ types }, input, plan) => {
    for (const name of Object.keys(types ?? {})) {
      const column = requireColumn(name, input, plan, ['types', name], true);
      if (column?.cast) plan.problem(['types', name], `field '${name}' is already ${column.type}`);
    }
    return input.map((column) => {
      if (column.cast) return column;
      if (!types) return { ...column, cast: true };
      const type = Object.hasOwn(types, column.name) ? types[column.name] : undefined;
      return type ? { ...column, type, cast: true } : column;
    });
  },
  open: ({ types, on_error }, runtime) => {
    const { input = [], onError = 'reject' } = runtime;
    const declared = Object.fromEntries(input.filter((column) => !column.cast).map(({ name, type }) => [name, type]));
    const casts = Object.entries(types ?? declared).map(([field, type]) => ({ field, castColumn: casting(type) }));
    return map((page) => {
      const batch = batchOf(page);
      const present = casts.filter(({ field }) => batch.columns.has(field));
      const columns = new Map(present.map(({ field, castColumn }) => [field, castColumn(batch.column(field))]));
      const done = batch.with(Array.from(columns, ([field, { vector }]) => [field, vector] as const));
      const kept = keptRows({ page: page.number, batch }, columns, on_error ?? onError, runtime);
      return withBatch(page, kept === undefined ? done : done.take(kept));
    });
  },
});
