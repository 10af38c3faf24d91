import { expect, test } from '@jest/globals';
import { lastValueFrom, from, mergeMap, toArray } from 'rxjs';
import { temporaryFolder } from '../../support/temporary.js';
import { runOver, traps } from '../../support/traps.js';

/** Runs over all lists of a kind, some at a time because they mostly wait. The soak tests and `npm run bench:traps` take many seeds. */
async function runsOver(isHonest: boolean) {
  const folder = await temporaryFolder();
  const lists = traps.filter(({ honest, long }) => honest === isHonest && !long);
  return lastValueFrom(
    from(lists).pipe(
      mergeMap(async (trap) => ({ name: trap.name, ...(await runOver(trap, 'repair', 0, folder)) }), 4),
      toArray(),
    ),
  );
}

test('no row is lost without a word from a list that misleads', async () => {
  expect((await runsOver(false)).filter(({ lost, failed }) => lost > 0 && !failed)).toEqual([]);
});

test('no row is lost from a list that is only odd, and it is not refused', async () => {
  expect((await runsOver(true)).filter(({ lost, failed, outcome }) => lost > 0 || failed || outcome === 'unstable')).toEqual([]);
});
