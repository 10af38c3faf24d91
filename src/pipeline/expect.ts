import { z } from 'zod';
import { nearest, type Column } from '../collections/index.js';
import type { Problem } from './references.js';
import { share, tolerance } from './units.js';

const column = z.string().min(1);

/** The shape of `expect`: what has to be true of the rows that leave the last step, or nothing is published. */
export const expectShape = z.strictObject({
  min_rows: z.number().int().min(0).optional().describe('Fewest rows that leave the last step.'),
  max_shrink: share
    .optional()
    .describe("How much smaller than the last run's an output with a manifest may be, like 20%. The first run passes."),
  max_growth: share.optional().describe('How much bigger it may be, like 50%. The first run passes, and one after an empty output.'),
  max_null: z
    .record(column, tolerance)
    .optional()
    .describe('Most rows whose column is null or empty, like 5% of those that leave the last step, or 100; by column.'),
  not_null: z.array(column).min(1).optional().describe('Columns that are null or empty in no row.'),
  unique: z
    .array(z.union([column, z.array(column).min(1)]))
    .min(1)
    .optional()
    .describe(
      'Columns, or lists of columns together, whose values come once; rows with a null or empty one do not count. At most 32 bytes of memory per value.',
    ),
  accepted_values: z
    .record(column, z.array(z.string()).min(1))
    .optional()
    .describe('The values that a column may have, as text formats write them, besides null and empty; by column.'),
});

export type Expect = z.output<typeof expectShape>;

/** Reports the columns of `expect` that do not leave the last step; paths start at `expect`. */
export function checkExpect(expect: Expect, columns: readonly Column[], problem: Problem): void {
  const known = columns.map(({ name }) => name);
  const require = (name: string, path: readonly (string | number)[], onKey = false) => {
    if (known.includes(name)) return;
    const near = nearest(name, known);
    const hint = near === undefined ? '' : `, did you mean '${near}'?`;
    problem(['expect', ...path], `no column '${name}' leaves the last step${hint}`, onKey);
  };
  for (const name of Object.keys(expect.max_null ?? {})) require(name, ['max_null', name], true);
  expect.not_null?.forEach((name, index) => require(name, ['not_null', index]));
  expect.unique?.forEach((names, index) => {
    if (typeof names === 'string') require(names, ['unique', index]);
    else names.forEach((name, inner) => require(name, ['unique', index, inner]));
  });
  for (const name of Object.keys(expect.accepted_values ?? {})) require(name, ['accepted_values', name], true);
}
