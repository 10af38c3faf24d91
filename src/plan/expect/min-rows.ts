import { amount, amountOf } from '../../core/index.js';
import { defineGate } from './gate.js';

export const minRows = defineGate('min_rows', {
  schema: (z) => z.number().int().min(0).optional().describe('Minimum number of rows that leave the last step.'),
  set: (fewest) => ({
    judges: 'rows',
    holds: undefined,
    columns: [],
    open: () => [
      {
        gate: 'min_rows',
        observe: () => {},
        refuse: (rows) =>
          rows >= fewest ? undefined : `expect.min_rows: expected at least ${amountOf(fewest, 'row')}, found ${amount(rows)}`,
      },
    ],
  }),
});
