import { expect, test } from '@jest/globals';
import { rung } from '../../support/rung.js';
import { temporaryFolder } from '../../support/temporary.js';
import { runOver, traps } from '../../support/traps.js';

/** `npm run bench:traps` takes 200 seeds. */
const [seeds, modes] = [[0], ['repair']] as const;

async function runsOver(trap: (typeof traps)[number]) {
  const folder = await temporaryFolder();
  const runs = [];
  for (const mode of modes) for (const seed of seeds) runs.push({ mode, seed, ...(await runOver(trap, mode, seed, folder)) });
  return runs;
}

const sampled = traps.filter(({ long }, index) => !long && rung(index % 4 === 0, true));

test.each(sampled.map((trap) => [trap.name, trap] as const))('no row is lost without a word from a list with %s', async (_name, trap) => {
  const runs = await runsOver(trap);
  expect(runs.filter(({ lost, failed }) => lost > 0 && !failed)).toEqual([]);
  if (trap.honest) expect(runs.filter(({ failed, outcome }) => failed || outcome === 'unstable')).toEqual([]);
});
