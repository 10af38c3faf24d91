import { amount, amountOf, type Violation, type Warning } from '../core/index.js';
import { defaultReadShrink, percent } from '../plan/index.js';
import type { Count } from './counts.js';
import { comparedResult, type GateResult } from './result.js';

/** A list that was read. */
export interface ListCount {
  /** What it was read as: the collection of the source, or the step that joins it. */
  readonly at: string;
  /** Name in messages. */
  readonly name: string;
  readonly collection: string;
  /** All of its rows, before any steps. */
  readonly rows: number;
  /** Its earlier size, if known. */
  readonly earlier: Count | undefined;
}

/**
 * Checks whether the lists have shrunk too much to publish: one result per list.
 *
 * @param allowed Allowed shrinkage by list.
 * @param allowShrink Whether to override refusals this once.
 */
export function shrinkGates(lists: readonly ListCount[], allowed: Allowed, allowShrink: boolean): readonly GateResult[] {
  return lists.map((list) => {
    const options = { compared: list.earlier !== undefined, allowed: allowShrink };
    const result = comparedResult('max_read_shrink', list.at, refuseShrunk(list, allowed), options);
    return list.earlier === undefined ? result : { ...result, rows: list.rows, rowsBefore: list.earlier.rows };
  });
}

type Allowed = number | Readonly<Record<string, number | undefined>> | undefined;

function refuseShrunk({ name, collection, rows, earlier }: ListCount, allowed: Allowed): readonly Violation[] {
  const most = typeof allowed === 'number' ? allowed : (allowed?.[collection] ?? defaultReadShrink);
  const lost = earlier === undefined ? 0 : earlier.rows - rows;
  // A share like 29% is not an exact number.
  if (earlier === undefined || lost <= (most + 1e-9) * earlier.rows) return [];
  const enough = `expect.max_read_shrink: { ${collection}: ${Math.ceil((100 * lost) / earlier.rows)}% }`;
  return [
    {
      code: 'E_GATE_SHRINK',
      message: `${name}: ${amountOf(rows, 'row')} ${rows === 1 ? 'was' : 'were'} read, and ${amount(earlier.rows)} by the earlier run ${earlier.run}; a drop of more than ${percent(most)} is refused; if it is right, run once with --allow-shrink, or set ${enough}`,
    },
  ];
}

/** Warns of empty lists for which no earlier count is known. */
export function warnOfEmpty(lists: readonly ListCount[]): readonly Warning[] {
  return lists
    .filter(({ rows, earlier }) => rows === 0 && earlier === undefined)
    .map(({ name }) => ({
      code: 'W_SOURCE_EMPTY',
      message: `${name}: no rows were read, and there is no earlier count to compare with`,
    }));
}
