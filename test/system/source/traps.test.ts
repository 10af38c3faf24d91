import { lastValueFrom, from, mergeMap, toArray } from 'rxjs';
import { movements, runOverService, runOverTrap, services, traps as schemeTraps } from '../../support/lists.js';
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

/** The seed of the first trap. Each trap has another one, so that modes of consistency, sides of joins and resumed runs take turns; the soak tests draw it. */
const firstSeed = process.env['TEST_DRAWS'] === 'random' ? Math.floor(Math.random() * 1_000_000) : 0;

test('no row is lost without a word, or written twice, from lists that mislead by any kind of paging', async () => {
  const folder = await temporaryFolder();
  const runs = await lastValueFrom(
    from(schemeTraps).pipe(
      mergeMap(async (trap, index) => ({ name: trap.name, ...(await runOverTrap(trap, firstSeed + index, folder)) }), 6),
      toArray(),
    ),
  );
  const isWrong = ({ missing, twice, outcome, warnings }: (typeof runs)[number]) =>
    twice > 0 || (missing > 0 && (outcome === 'proven' || warnings.length === 0));
  expect(runs.filter(isWrong)).toEqual([]);
});

test.each(Object.keys(services))('a list by %s, which behaves as it should, is neither refused nor warned about', async (service) => {
  const folder = await temporaryFolder();
  const cases = movements.flatMap((moves) =>
    [0, 1, 10, 30, 31].slice(moves === 'still' ? 0 : 2).map((rows) => ({ rows, moves, consistency: 'repair' as const })),
  );
  const runs = await lastValueFrom(
    from(cases).pipe(
      mergeMap(async (of) => ({ ...of, ...(await runOverService(service, of, folder)) }), 6),
      toArray(),
    ),
  );
  const usual = service.includes('scroll') ? ['W_SOURCE_EMPTY', 'W_SOURCE_UNCHECKED'] : ['W_SOURCE_EMPTY'];
  const isWrong = (run: (typeof runs)[number]) => run.failed || run.missing > 0 || run.warnings.some((code) => !usual.includes(code));
  expect(runs.filter(isWrong)).toEqual([]);
});
