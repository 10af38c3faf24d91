import { describe, expect, test } from '@jest/globals';
import { rung } from '../../support/rung.js';
import { temporaryFolder } from '../../support/temporary.js';
import { runOver, traps } from '../../support/traps.js';

/** `npm run bench:traps` takes 200 seeds. */
const seeds = Array.from({ length: rung(1, 12) }, (_, seed) => seed);
const modes = rung(['repair'] as const, ['repair', 'prove'] as const);

async function runsOver(trap: (typeof traps)[number]) {
  const folder = await temporaryFolder();
  const runs = [];
  for (const mode of modes) for (const seed of seeds) runs.push({ mode, seed, ...(await runOver(trap, mode, seed, folder)) });
  return runs;
}

describe('no row is lost without a word', () => {
  test.each(traps.map((trap) => [trap.name, trap] as const))('from a list with %s', async (_name, trap) => {
    const silent = (await runsOver(trap)).filter(({ lost, failed }) => lost > 0 && !failed);
    expect(silent).toEqual([]);
  });
});

describe('an honest list is read', () => {
  test.each(traps.filter(({ honest }) => honest).map((trap) => [trap.name, trap] as const))('that has %s', async (_name, trap) => {
    const refused = (await runsOver(trap)).filter(({ failed, outcome }) => failed || outcome === 'unstable');
    expect(refused).toEqual([]);
  });
});
