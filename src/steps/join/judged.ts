import { defer, tap } from 'rxjs';
import { GateError } from '../../core/index.js';
import { addingTo, emptyTally, type Reading, type Step, type StepContext, type Tally } from '../../flow/index.js';
import { matchGate, noMatch } from './matched.js';

/** The parts of a context that a join needs. */
export type JoinContext = Pick<StepContext, 'at' | 'tally' | 'working'>;

/**
 * Counts the rows of a join for each subscription, and judges them at the end of the read, unless it failed or was restarted.
 *
 * @param whole Receives the counts, with each page.
 * @param minMatch Minimum share of rows with a match; `undefined` for no minimum, and a warning when no row has a match.
 */
export function judged<In, Out>(
  join: (context: JoinContext) => Step<In, Out>,
  whole: StepContext,
  minMatch: string | undefined,
  reading: Reading,
): Step<In, Out> {
  const { at } = whole;
  let last: object | undefined;
  return (pages$) =>
    defer(() => {
      const tally = emptyTally();
      const add = addingTo(whole.tally, tally);
      let outcome: 'open' | 'complete' | 'failed' = 'open';
      const is = (ended: typeof outcome) => () => {
        add();
        outcome = ended;
      };
      last = tally;
      reading.atEnd(() => {
        // A subscription that was left and restarted, as by `retry`, does not count.
        if (outcome === 'complete' || (outcome === 'open' && last === tally)) judge(at, tally, minMatch, reading);
      });
      return pages$.pipe(
        join({ at, tally, working: (is) => whole.working?.(is) }),
        tap({ next: add, error: is('failed'), complete: is('complete') }),
      );
    });
}

/** @throws {GateError} `E_GATE_MATCH` when too few rows have a match. */
function judge(at: string, found: Readonly<Tally>, minMatch: string | undefined, reading: Reading): void {
  if (minMatch === undefined) {
    const remark = noMatch(found, 'the other side', 'minMatch');
    if (remark) reading.warn({ ...remark, message: `${at}: ${remark.message}` });
    return;
  }
  const violation = matchGate(minMatch, found);
  if (violation) throw new GateError(violation.code, `${at}: ${violation.message}`);
}
