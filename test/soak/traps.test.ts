import { temporaryFolder } from '../support/temporary.js';
import { runOver, traps } from '../support/traps.js';

/** `npm run bench:traps` takes 200 seeds, and counts what they cost. */
const seeds = 10;
const drawn = process.env['TEST_DRAWS'] === 'random' ? Math.floor(Math.random() * 1_000_000) : 0;

test.each(traps.filter(({ long }) => !long).map((trap) => [trap.name, trap] as const))(
  'no row is lost without a word from a list with %s',
  async (_name, trap) => {
    const folder = await temporaryFolder();
    for (const mode of ['repair', 'prove'] as const) {
      for (let seed = drawn; seed < drawn + seeds; seed += 1) {
        const run = await runOver(trap, mode, seed, folder);
        const silent = run.lost > 0 && !run.failed && run.outcome !== 'drifted';
        const refused = trap.honest && (run.failed || run.outcome === 'unstable');
        expect({ seed, mode, ...run, silent, refused }).toMatchObject({ silent: false, refused: false });
      }
    }
  },
);
