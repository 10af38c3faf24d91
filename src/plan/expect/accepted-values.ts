import { amount, amountOf, textOf, type Column } from '../../core/index.js';
import { memoOf } from '../../vector/index.js';
import { columnsByKey, defineGate, someName, type Check } from './gate.js';

export const acceptedValues = defineGate('accepted_values', {
  schema: (z) =>
    z
      .record(someName(), z.array(z.string()).min(1))
      .optional()
      .describe('Values that a column may have besides null and empty, as text formats write them; by column.'),
  set: (accepted) => ({
    judges: 'rows',
    holds: undefined,
    columns: columnsByKey(accepted),
    open: (columns) =>
      Object.entries(accepted).map(([name, values]) =>
        checkValues(
          name,
          values,
          columns.find((column) => column.name === name),
        ),
      ),
  }),
});

/**
 * Counts values that are not accepted. Values of a column that is personal or secret, and values
 * that are not words, are not shown: a URL may contain an address.
 */
function checkValues(name: string, accepted: readonly string[], column: Column | undefined): Check {
  const values = new Set(accepted);
  const samples = new Set<string>();
  const type = column?.type ?? 'text';
  const acceptedIn = memoOf((value) => {
    const text = textOf(value, type);
    return text === null || text === '' || values.has(text);
  });
  let others = 0;
  return {
    gate: `accepted_values.${name}`,
    observe: (batch) => {
      const vector = batch.columnOrNulls(name);
      const isAccepted = acceptedIn(vector);
      for (let row = 0; row < vector.length; row += 1) {
        if (isAccepted(row)) continue;
        others += 1;
        if (samples.size >= 5 || column?.sensitivity !== 'plain') continue;
        const text = textOf(vector.value(row), type) ?? '';
        if (isWord(text)) samples.add(text);
      }
    },
    refuse: (rows) => {
      if (others === 0) return undefined;
      const like = samples.size === 0 ? '' : `, like ${[...samples].map((text) => JSON.stringify(text)).join(', ')}`;
      return `expect.accepted_values.${name}: expected only ${accepted.join(', ')}, found other values in ${amount(others)} of ${amountOf(rows, 'row')}${like}`;
    },
  };
}

/**
 * Returns whether a text could be a code word, such as a status: at most 40 letters, digits, spaces, `_`, `.` and `-`. Email addresses and
 * URLs never match.
 *
 * @example
 * isWord('sold_twice'); // true
 * isWord('https://example.com/?email=jane@example.com'); // false
 */
function isWord(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(text);
}
