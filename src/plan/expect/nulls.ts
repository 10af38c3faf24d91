import { amount, amountOf } from '../../core/index.js';
import { distinct } from '../../options/index.js';
import { maxOf, percent, tolerance, written, type Tolerance } from '../units.js';
import { columnsByKey, defineGate, someName, type Check } from './gate.js';

export const maxNull = defineGate('max_null', {
  schema: (z) =>
    z
      .record(someName(), tolerance())
      .optional()
      .describe(
        'Maximum number of rows in which a column is null or empty, like 5% of the rows that leave the last step, or 100; by column.',
      ),
  set: (columns) => ({
    judges: 'rows',
    holds: undefined,
    columns: columnsByKey(columns),
    open: () => Object.entries(columns).map(([name, most]) => checkNulls(name, `max_null.${name}`, most)),
  }),
});

export const notNull = defineGate('not_null', {
  schema: (z) => distinct(z.array(someName()).min(1)).optional().describe('Columns that must not be null or empty in any row.'),
  set: (columns) => ({
    judges: 'rows',
    holds: undefined,
    columns: columns.map((name, index) => ({ name, path: [index], onKey: false })),
    open: () => columns.map((name) => checkNulls(name, `not_null.${name}`, { rows: 0 })),
  }),
});

function checkNulls(name: string, gate: string, most: Tolerance): Check {
  let empty = 0;
  return {
    gate,
    observe: (batch) => {
      const vector = batch.columnOrNulls(name);
      for (let row = 0; row < vector.length; row += 1) if (vector.isEmpty(row)) empty += 1;
    },
    refuse: (rows) => {
      if (empty <= maxOf(most, rows)) return undefined;
      const share = percent(empty / rows);
      const allowed =
        maxOf(most, rows) === 0 ? 'no row' : 'share' in most ? `at most ${written(most)} of rows` : `at most ${amountOf(most.rows, 'row')}`;
      return `expect.${gate}: ${allowed} may be empty, found ${share} (${amount(empty)} of ${amount(rows)})`;
    },
  };
}
