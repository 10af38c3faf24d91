import type { TextRow } from '../pipeline/index.js';

/** One way in which rows differ from those expected. Rows are counted from 1. */
export type RowDifference =
  | {
      readonly kind: 'differs';
      readonly row: number;
      /** By column, the expected and the received value; `undefined` if the column does not exist. */
      readonly columns: Readonly<Record<string, { readonly expected: string | null; readonly received: string | null | undefined }>>;
    }
  | { readonly kind: 'missing'; readonly row: number; readonly expected: TextRow }
  | { readonly kind: 'unexpected'; readonly row: number; readonly received: TextRow };

/** Number of rows above which they are compared by position: finding out which ones moved takes quadratic time. */
const most = 1000;

/**
 * Compares rows in order, by the expected columns. A missing row does not make the following ones differ: as many rows as possible are matched.
 *
 * @example
 * diffRows([{ id: '1' }, { id: '2' }], [{ id: '2', n: 'x' }]); // [{ kind: 'missing', row: 1, expected: { id: '1' } }]
 */
export function diffRows(expected: readonly TextRow[], received: readonly TextRow[]): readonly RowDifference[] {
  const found: RowDifference[] = [];
  for (const { from, to, rows, others } of gapsBetween(expected, received)) {
    const pairs = Math.max(rows.length, others.length);
    for (let index = 0; index < pairs; index += 1) {
      const [wanted, came] = [rows[index], others[index]];
      if (wanted && came) found.push({ kind: 'differs', row: to + index + 1, columns: columnsOf(wanted, came) });
      else if (wanted) found.push({ kind: 'missing', row: from + index + 1, expected: wanted });
      else if (came) found.push({ kind: 'unexpected', row: to + index + 1, received: came });
    }
  }
  return found;
}

/** Unmatched rows on both sides between two matches. */
interface Gap {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly TextRow[];
  readonly others: readonly TextRow[];
}

function gapsBetween(expected: readonly TextRow[], received: readonly TextRow[]): readonly Gap[] {
  const same = expected.length > most || received.length > most ? samePlaces(expected, received) : commonRows(expected, received);
  const ends = [...same, [expected.length, received.length] as const];
  let [from, to] = [0, 0];
  return ends.map(([row, other]) => {
    const gap = { from, to, rows: expected.slice(from, row), others: received.slice(to, other) };
    [from, to] = [row + 1, other + 1];
    return gap;
  });
}

type Pair = readonly [row: number, other: number];

function samePlaces(expected: readonly TextRow[], received: readonly TextRow[]): readonly Pair[] {
  return expected.flatMap((row, index): readonly Pair[] => {
    const other = received[index];
    return other && isMatch(row, other) ? [[index, index]] : [];
  });
}

/** Returns the longest common subsequence. */
function commonRows(expected: readonly TextRow[], received: readonly TextRow[]): readonly Pair[] {
  const wide = received.length + 1;
  const lengths = new Uint16Array((expected.length + 1) * wide);
  const at = (row: number, other: number) => lengths[row * wide + other] ?? 0;
  for (let row = expected.length - 1; row >= 0; row -= 1) {
    for (let other = received.length - 1; other >= 0; other -= 1) {
      const [wanted, came] = [expected[row], received[other]];
      const match = wanted && came && isMatch(wanted, came);
      lengths[row * wide + other] = match ? at(row + 1, other + 1) + 1 : Math.max(at(row + 1, other), at(row, other + 1));
    }
  }
  const pairs: Pair[] = [];
  let [row, other] = [0, 0];
  while (row < expected.length && other < received.length) {
    const [wanted, came] = [expected[row], received[other]];
    if (wanted && came && isMatch(wanted, came) && at(row, other) === at(row + 1, other + 1) + 1) {
      pairs.push([row, other]);
      row += 1;
      other += 1;
    } else if (at(row + 1, other) >= at(row, other + 1)) row += 1;
    else other += 1;
  }
  return pairs;
}

function isMatch(expected: TextRow, received: TextRow): boolean {
  return Object.keys(columnsOf(expected, received)).length === 0;
}

/** Returns the columns that differ. */
function columnsOf(expected: TextRow, received: TextRow) {
  return Object.fromEntries(
    Object.entries(expected).flatMap(([name, wanted]) => {
      const came = Object.hasOwn(received, name) ? received[name] : undefined;
      return came === wanted ? [] : [[name, { expected: wanted, received: came }] as const];
    }),
  );
}
