import type { z } from 'zod';
import { declaredTypes, schema, StepError, type Row } from '../../core/index.js';
import { defaultMemory, memory, programSpill, RowSorter, scratchFolder, type SortKey, type SpillOptions } from '../../engine/index.js';
import { blocking, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { taking } from '../../vector/index.js';
import { checkDuckdb, onErrorKey, refuseRepeats, requireColumn, requireDuckdb } from '../fields.js';
import { keptRows } from '../evaluation.js';
import { checkedConfig, builtInStep, stepOf } from '../step.js';

/** Options of `sort` besides its keys. With `onError: 'null'`, a row comes last if its key does not have its type. */
export type SortOptions = SpillOptions;

const configOfProgram = schema((z) => {
  const key = z.strictObject({ field: z.string().min(1), type: z.enum(declaredTypes).optional(), descending: z.boolean().optional() });
  return z.strictObject({ by: z.array(key).min(1), ...programSpill(z) });
});

/**
 * Reads all rows, and sorts them. Equal keys keep their order. `null` comes last, and so does the empty text for every type but `text`.
 * Texts are compared by code points.
 *
 * It needs the optional package `@duckdb/node-api`. Memory: limited by `memory`, at least 32 MB; beyond it, rows are in a private folder.
 *
 * @throws {StepError} `E_STEP_VALUE` for a key that does not have its type, under `onError: 'fail'` and without a context that takes
 * rejects; `E_STEP_CONFIG`, synchronously, for wrong arguments and without DuckDB; `E_STEP_SCRATCH` if spilled rows cannot be stored;
 * `E_STEP_FIELD` if no row of a non-empty page has a key's field.
 *
 * @example
 * service.leads.pipe(sort([{ field: 'timestamp', type: 'timestamp', descending: true }, { field: 'lead_id' }]));
 */
export function sort<T extends Row>(
  keys: readonly (SortKey & { readonly field: keyof T & string })[],
  options: SortOptions = {},
  context?: StepContext,
): Step<T, T> {
  const config = checkedConfig({ name: 'sort', config: configOfProgram }, { by: keys }, options, context);
  checkDuckdb(context?.at ?? 'sort');
  const fields = keys.map(({ field }) => field);
  return stepOf(sortStep, config, fields, context, { scratch: options.folder });
}

/** A program's keys are typed; a file's are texts, and have the declared types of their fields. */
export interface SortConfig {
  readonly by: readonly (string | SortKey)[];
  readonly memory?: number | undefined;
  readonly on_error?: OnError | undefined;
}

function wantedOf(text: string | SortKey): SortKey | undefined {
  if (typeof text !== 'string') return text;
  const [, field, way = 'asc'] = /^\s*(\S+)(?:\s+(asc|desc))?\s*$/i.exec(text) ?? [];
  return field === undefined ? undefined : { field, descending: way.toLowerCase() === 'desc' };
}

export const sortStep = builtInStep('sort', {
  summary: 'Sorts all rows by fields, compared by their declared types; rows with equal keys keep their order.',
  config: (z): z.ZodType<SortConfig> =>
    z.strictObject({
      by: z
        .array(z.string().min(1))
        .min(1)
        .describe(
          'Fields in order of importance, each with asc (default) or desc: timestamp desc. Rows without a value come last; in a text field, empty text is a value and the smallest one.',
        ),
      memory: memory().describe('Memory for rows; the rest is spilled to a file in the state folder.'),
      on_error: onErrorKey(z, 'whose value does not cast; with null it comes last'),
    }),
  blocking: true,
  keepsRows: true,
  examples: [{ by: ['timestamp desc', 'lead_id'] }, { by: ['lead_status'], memory: '64MB' }],
  columns: ({ by }, input, plan) => {
    requireDuckdb(plan);
    const wanted = by.map(wantedOf);
    by.forEach((text, index) => {
      const field = wanted[index]?.field;
      if (field === undefined) plan.problem(['by', index], `${JSON.stringify(text)} is not a field followed by asc or desc`);
      else requireColumn(field, input, plan, ['by', index]);
    });
    refuseRepeats(
      wanted.map((each, index) => each?.field ?? String(index)),
      plan,
      ['by'],
    );
    return input;
  },
  open: ({ by, memory = defaultMemory, on_error }, runtime) => {
    const { at, input, onError = 'reject', scratch: folder = scratchFolder() } = runtime;
    const types = new Map(input?.map(({ name, type }) => [name, type]));
    const keys = by.flatMap((text) => {
      const wanted = wantedOf(text);
      return wanted ? [{ type: types.get(wanted.field) ?? 'text', ...wanted }] : [];
    });
    const wayOut = on_error ?? onError;
    return blocking(runtime, () => {
      const sorter = new RowSorter(keys, { memory, folder, failed: (message) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`) });
      return {
        add: (batch, page) => {
          const read = sorter.keysOf(batch);
          const vectors = Array.from(read.values(), ({ vector }) => vector);
          // Under `null`, such a value comes last, and the row keeps it.
          const kept = wayOut === 'null' ? undefined : keptRows({ page, batch }, read, wayOut, runtime);
          return kept === undefined ? sorter.add(batch, vectors) : sorter.add(batch.take(kept), vectors.map(taking(kept)));
        },
        finish: () => sorter.finish(),
        close: () => sorter.close(),
      };
    });
  },
});
