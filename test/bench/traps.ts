/**
 * Counts the runs over lying lists that silently lose rows, the honest lists that are refused, and the cost:
 *
 *   npm run bench:traps                       # 200 seeds of every trap, with repair and with prove
 *   LEADSTREAM_SEEDS=20 npm run bench:traps -- outage
 *
 * Runs mostly wait, so several run at a time; a folder in memory (`TMPDIR=/dev/shm`) spares the disk. Prints a table in Markdown; exits with 1 if a
 * run silently lost rows, or did not end within a minute.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defer, lastValueFrom, mergeMap, of, range, timeout, toArray } from 'rxjs';
import { runOver, traps, type Trapped } from '../support/traps.js';

const seeds = Number(process.env.LEADSTREAM_SEEDS ?? 200);
const only = new RegExp(process.argv[2] ?? '');
const folder = await mkdtemp(join(tmpdir(), 'leadstream-traps-'));
const [atOnce, longestMs] = [6, 60_000];
let [silent, hanging] = [0, 0];

console.log(`${seeds} seeds each\n`);
console.log('| list | consistency | lost rows, without a word | refused or unstable | outcomes | requests | passes |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const trap of traps.filter(({ name }) => only.test(name))) {
  for (const mode of ['repair', 'prove'] as const) {
    const runs: Trapped[] = await lastValueFrom(
      range(0, seeds).pipe(
        mergeMap((seed) => {
          const endless: Trapped = { lost: 0, outcome: `seed ${seed} without end`, failed: true, growing: false, requests: 0, passes: 0 };
          return defer(() => runOver(trap, mode, seed, folder)).pipe(timeout({ each: longestMs, with: () => of(endless) }));
        }, atOnce),
        toArray(),
      ),
    );
    const lost = runs.filter((run) => run.lost > 0 && !run.failed && run.outcome !== 'drifted').length;
    silent += lost;
    hanging += runs.filter(({ outcome }) => outcome.endsWith('without end')).length;
    const refused = runs.filter(({ failed, outcome }) => failed || outcome === 'unstable').length;
    const outcomes = new Map<string, number>();
    for (const { outcome, growing } of runs) {
      const what = growing ? `${outcome} (growing)` : outcome;
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
    }
    const counts = [...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', ');
    const mean = (value: (run: Trapped) => number) => (runs.reduce((sum, run) => sum + value(run), 0) / runs.length).toFixed(1);
    const what = `${trap.honest ? 'honest' : 'lying'}: ${trap.name}`;
    console.log(`| ${what} | ${mode} | ${lost} | ${refused} | ${counts} | ${mean((run) => run.requests)} | ${mean((run) => run.passes)} |`);
  }
}
await rm(folder, { recursive: true, force: true });
process.exitCode = silent + hanging > 0 ? 1 : 0;
process.exit();
