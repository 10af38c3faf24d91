import { amountOf } from '../../core/index.js';
import { KeySet } from '../../flow/index.js';
import { distinct } from '../../options/index.js';
import { keysOf } from '../../vector/index.js';
import { defineGate, someName, type Check, type NamedColumn } from './gate.js';

export const unique = defineGate('unique', {
  schema: (z) =>
    distinct(z.array(z.union([someName(), distinct(z.array(someName()).min(1))])).min(1), (names) => [names].flat().join(' + '))
      .optional()
      .describe(
        'Columns, or lists of columns taken together, whose values must be unique; rows with a null or empty value do not count. At most 32 bytes of memory per value.',
      ),
  set: (keys) => ({
    judges: 'rows',
    holds: 'at most 32 bytes for each value of expect.unique',
    columns: keys.flatMap((names, index): readonly NamedColumn[] =>
      typeof names === 'string'
        ? [{ name: names, path: [index], onKey: false }]
        : names.map((name, inner) => ({ name, path: [index, inner], onKey: false })),
    ),
    open: () => keys.map((names) => checkUnique([names].flat())),
  }),
});

function checkUnique(names: readonly string[]): Check {
  const seen = new KeySet();
  let repeated = 0;
  return {
    gate: `unique.${names.join('+')}`,
    observe: (batch) => {
      const keyAt = keysOf(batch, names);
      for (let row = 0; row < batch.length; row += 1) {
        const key = keyAt(row);
        if (key !== undefined && !seen.add(key)) repeated += 1;
      }
    },
    refuse: (rows) =>
      repeated === 0
        ? undefined
        : `expect.unique.${names.join('+')}: values must be unique, found ${amountOf(repeated, 'repetition')} in ${amountOf(rows, 'row')}`,
  };
}
