import { map } from 'rxjs';
import { z } from 'zod';
import { declaredTypes, expectations, parserOf, type DeclaredType, type Row, type Value } from '../../collections/index.js';
import { type Cells, type Content, memoOfTexts, pickCells, pickFrom, rowAt, Texts, valueAt } from '../../columnar/index.js';
import { StepError } from '../../errors.js';
import {
  cellsReader,
  contentOf,
  reshapeAll,
  standalone,
  withRows,
  type Fault,
  type OnError,
  type Step,
  type StepContext,
} from '../../flow/index.js';
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
    type ? [{ field, reason: `is not ${expectations[type]}`, castCells: casting(type) }] : [],
  );
  const cellsOf = cellsReader(casts.map(({ field }) => field));
  const places = new Map(casts.map(({ field }, index) => [field, index]));
  const reshaped = reshapeAll((names) => new Map(names.map((name) => [name, places.get(name) ?? name])));

  /** Takes out the rows with a fault, in their order. */
  function settle(content: Content<T>, faults: ReadonlyMap<number, Fault>): readonly number[] {
    const kept: number[] = [];
    for (let row = 0; row < content.length; row += 1) {
      const fault = faults.get(row);
      if (!fault) {
        kept.push(row);
        continue;
      }
      if (onError === 'fail') throw new StepError('E_STEP_VALUE', `${context.at}: field ${fault.field} ${fault.reason}`);
      context.reject(rowAt(content, row) ?? {}, fault);
      context.tally.rejected += 1;
    }
    return kept;
  }

  return map((page) => {
    const content = contentOf(page);
    const faults = new Map<number, Fault>();
    const arrived = cellsOf(content);
    const columns = casts.map(({ field, reason, castCells }, index) =>
      castCells(arrived[index] ?? [], (row) => {
        if (onError === 'null') context.tally.nulled += 1;
        else if (!faults.has(row)) faults.set(row, { field, reason });
      }),
    );
    if (faults.size === 0) return withRows(page, reshaped(content, columns));
    const kept = settle(content, faults);
    const values = columns.map((cells) => pickCells(cells, kept));
    return withRows(page, reshaped(pickFrom(content, kept), values));
  });
}

/** Texts of a column that are remembered with their values. */
const mostRemembered = 16_384;

/** Casts the values of a column. One that does not cast is `null`, and its row is reported. */
function casting(type: DeclaredType): (cells: Cells, refuse: (row: number) => void) => Cells {
  const parse = parserOf(type);
  const parseText = memoOfTexts<Value | undefined>(parse, mostRemembered);

  return (cells, refuse) => {
    if (type === 'text' && cells instanceof Texts) return cells;
    const values: Value[] = [];
    for (let row = 0; row < cells.length; row += 1) {
      const parsed = cells instanceof Texts ? parseText(cells, row) : parsedOf(valueAt(cells, row), parse);
      if (parsed === undefined) refuse(row);
      values.push(parsed ?? null);
    }
    return values;
  };
}

function parsedOf(value: Value, parse: (text: string) => Value | undefined): Value | undefined {
  return typeof value === 'string' ? parse(value) : value;
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
      const column = requireColumn(name, input, plan, ['types', name], true);
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
