import { defer, tap } from 'rxjs';
import { GateError } from '../../core/index.js';
import { addingTo, emptyTally, type Reading, type Step, type StepContext, type Tally } from '../../flow/index.js';
import { matchGate, noMatch } from './matched.js';

/** What a join needs of a context. */
export type JoinContext = Pick<StepContext, 'at' | 'tally' | 'working'>;

/**
 * A join whose rows are counted for each subscription, and judged at the end of the read unless it failed or was begun again.
 *
 * @param whole Gets what is counted, with each page.
 * @param minMatch Minimum share of rows with a match; `undefined` for none, and a warning when no row has one.
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
        // One that was left, and begun again as by `retry`, came to nothing.
        if (outcome === 'complete' || (outcome === 'open' && last === tally)) judge(at, tally, minMatch, reading);
      });
      return pages$.pipe(
        join({ at, tally, working: (is) => whole.working?.(is) }),
        tap({ next: add, error: is('failed'), complete: is('complete') }),
      );
    });
}

/** @throws {GateError} `E_GATE_MATCH` when fewer rows have a match than have to. */
function judge(at: string, found: Readonly<Tally>, minMatch: string | undefined, reading: Reading): void {
  if (minMatch === undefined) {
    const remark = noMatch(found, 'the other side', 'minMatch');
    if (remark) reading.warn({ ...remark, message: `${at}: ${remark.message}` });
    return;
  }
  const violation = matchGate(minMatch, found);
  if (violation) throw new GateError(violation.code, `${at}: ${violation.message}`);
}
