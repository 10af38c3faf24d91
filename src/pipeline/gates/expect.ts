import type { z } from 'zod';
import { nearest, schema, type Column } from '../../core/index.js';
import { distinct, usually } from '../../options/index.js';
import type { Problem } from '../spec/references.js';
import { part, percent, share, tolerance } from '../spec/units.js';

/** How much smaller the lists of the service may be than in the last run, unless told otherwise. */
export const defaultReadShrink = 0.5;

/** The shape of `expect`: what has to be true of the rows that leave the last step, or nothing is published. */
export const expectShape = schema((z) => {
  const column = z.string().min(1);
  return z.strictObject({
    min_rows: z.number().int().min(0).optional().describe('Minimum number of rows that leave the last step.'),
    max_shrink: part().optional().describe("How much smaller than the last run's an output may be, like 20%. The first run passes."),
    max_growth: share().optional().describe('How much bigger it may be, like 50%. The first run passes, and one after an empty output.'),
    max_read_shrink: usually(z.union([part(), z.record(column, part())]), percent(defaultReadShrink)).describe(
      'How much smaller than in the last run the lists of the service may be that are read and joined, like 80%, or by collection, like { bridges: 100% }; 100% lets them be empty. The first run passes.',
    ),
    max_null: z
      .record(column, tolerance())
      .optional()
      .describe('Most rows whose column is null or empty, like 5% of those that leave the last step, or 100; by column.'),
    not_null: distinct(z.array(column).min(1)).optional().describe('Columns that are null or empty in no row.'),
    unique: distinct(z.array(z.union([column, distinct(z.array(column).min(1))])).min(1), (names) => [names].flat().join(' + '))
      .optional()
      .describe(
        'Columns, or lists of columns together, whose values come once; rows with a null or empty one do not count. At most 32 bytes of memory per value.',
      ),
    accepted_values: z
      .record(column, z.array(z.string()).min(1))
      .optional()
      .describe('The values that a column may have, as text formats write them, besides null and empty; by column.'),
  });
});

/** What a pipeline expects of its rows before it publishes them. */
export type Expect = z.output<ReturnType<typeof expectShape>>;

/** What is known of the columns that leave the last step. */
interface Leaving {
  readonly columns: readonly Column[];
  /** The step that did not pass a column on, by the column. */
  readonly gone?: ReadonlyMap<string, string>;
}

/** Reports the lists of `expect` that are not read; paths start at `expect`. */
export function checkLists({ max_read_shrink: most }: Expect, lists: readonly string[], problem: Problem): void {
  for (const name of Object.keys(typeof most === 'object' ? most : {})) {
    if (lists.some((list) => list === name)) continue;
    const near = nearest(name, lists);
    const hint = near === undefined ? `there are ${lists.join(', ')}` : `did you mean '${near}'?`;
    problem(['expect', 'max_read_shrink', name], `${name} is not read here; ${hint}`, true);
  }
}

/** Reports what of `expect` names columns that do not leave the last step; paths start at `expect`. */
export function checkExpect(expect: Expect, { columns, gone }: Leaving, problem: Problem): void {
  const known = columns.map(({ name }) => name);
  const require = (name: string, path: readonly (string | number)[], onKey = false) => {
    if (known.includes(name)) return;
    const step = gone?.get(name);
    const near = step === undefined ? nearest(name, known) : undefined;
    const lost = step === undefined ? '' : `: ${step} does not pass it on`;
    const hint = near === undefined ? '' : `, did you mean '${near}'?`;
    problem(['expect', ...path], `no column '${name}' leaves the last step${lost}${hint}`, onKey);
  };
  for (const name of Object.keys(expect.max_null ?? {})) require(name, ['max_null', name], true);
  expect.not_null?.forEach((name, index) => require(name, ['not_null', index]));
  expect.unique?.forEach((names, index) => {
    if (typeof names === 'string') require(names, ['unique', index]);
    else names.forEach((name, inner) => require(name, ['unique', index, inner]));
  });
  for (const name of Object.keys(expect.accepted_values ?? {})) require(name, ['accepted_values', name], true);
}
