/**
 * Counts the runs over lying lists that silently lose rows, the honest lists that are refused, and the cost:
 *
 *   npm run bench:traps                                # 200 seeds of every trap, numbered lists with repair and with prove
 *   LEADSTREAM_SEEDS=20 npm run bench:traps -- outage
 *   npm run bench:traps -- '^link: .* 204' 17          # one seed, with everything about the run
 *
 * Runs mostly wait, so several run at a time; a folder in memory (`TMPDIR=/dev/shm`) spares the disk. Prints tables in Markdown; exits with 1 if a
 * run silently lost rows, proved a list of which it lost some, wrote rows twice, or did not end within a minute, or if an honest list was refused.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defer, from, lastValueFrom, mergeMap, timeout, toArray } from 'rxjs';
import { modes, movements, runOverService, runOverTrap, services, sizes, traps as ownTraps } from '../support/lists.js';
import { runOver, traps, type Trapped } from '../support/traps.js';

const [pattern = '', one] = process.argv.slice(2);
const only = new RegExp(pattern);
const seeds = one === undefined ? Array.from({ length: Number(process.env.LEADSTREAM_SEEDS ?? 200) }, (_, seed) => seed) : [Number(one)];
const folder = await mkdtemp(join(tmpdir(), 'leadstream-traps-'));
const [atOnce, longestMs] = [6, 60_000];
let wrong = 0;

console.log(`${seeds.length} seeds each`);
header('list', 'consistency', 'lost rows, without a word', 'refused or unstable', 'outcomes', 'requests', 'passes');
for (const trap of traps.filter(({ name }) => only.test(name))) {
  for (const mode of ['repair', 'prove'] as const) {
    const runs: readonly Trapped[] = await each(seeds, (seed) => runOver(trap, mode, seed, folder));
    const lost = runs.filter((run) => run.lost > 0 && !run.failed && run.outcome !== 'drifted').length;
    wrong += lost;
    const refused = runs.filter(({ failed, outcome }) => failed || outcome === 'unstable').length;
    const outcomes = tally(runs.map(({ outcome, growing }) => (growing ? `${outcome} (growing)` : outcome)));
    const means = [mean(runs.map(({ requests }) => requests)), mean(runs.map(({ passes }) => passes))];
    row(`${trap.honest ? 'honest' : 'lying'}: ${trap.name}`, mode, lost, refused, outcomes, ...means);
  }
}

const examples: unknown[] = [];
header('list', 'lost, without a word', 'lost, with a warning', 'proven, but lost', 'twice', 'refused', 'complete', 'outcomes');
for (const trap of ownTraps.filter(({ name }) => only.test(name))) {
  const { name } = trap;
  const runs = await each(seeds, async (seed) => ({ name, seed, ...(await runOverTrap(trap, seed, folder)) }));
  const lost = runs.filter(({ missing }) => missing > 0);
  const silent = lost.filter(({ warnings }) => warnings.length === 0);
  const proven = lost.filter(({ outcome }) => outcome === 'proven');
  const twice = runs.filter((run) => run.twice > 0);
  const refused = runs.filter(({ failed }) => failed).length;
  const outcomes = tally(runs.map(({ missing, outcome, warnings }) => [missing > 0 ? `lost, ${outcome}` : outcome, ...warnings].join(' ')));
  const complete = runs.length - refused - new Set([...lost, ...twice]).size;
  row(name, silent.length, lost.length - silent.length, proven.length, twice.length, refused, complete, outcomes);
  wrong += silent.length + proven.length + twice.length;
  examples.push(...(one === undefined ? new Set([silent, proven, twice].flatMap(([first = []]) => first)) : runs));
}
for (const example of examples) console.log(`\n${JSON.stringify(example)}`);

header('service', 'list', 'runs', 'lost, without a word', 'refused', 'warnings', 'extra requests', 'at most', 'end waits', 'at most', 'ms');
for (const name of Object.keys(services).filter((name) => only.test(name) && one === undefined)) {
  for (const moves of movements) {
    const cases = modes.flatMap((consistency) => sizes.map((rows) => ({ rows, moves, consistency })));
    const runs = await each(cases, (of) => runOverService(name, of, folder));
    const lost = runs.filter(({ missing, warnings }) => missing > 0 && warnings.length === 0).length;
    const refused = runs.filter(({ failed }) => failed);
    wrong += lost + refused.length;
    const warnings = tally(runs.flatMap((run) => run.warnings));
    const [extra, waits] = [runs.map((run) => run.extra), runs.map((run) => run.waits)];
    const cost = [mean(extra), Math.max(...extra), mean(waits), Math.max(...waits).toFixed(1), mean(runs.map(({ ms }) => ms))];
    row(name, moves, runs.length, lost, refused.length === 0 ? 0 : tally(refused.map(({ outcome }) => outcome)), warnings, ...cost);
  }
}
await rm(folder, { recursive: true, force: true });
process.exitCode = wrong > 0 ? 1 : 0;
process.exit();

function each<I, R>(items: readonly I[], run: (item: I) => Promise<R>): Promise<readonly R[]> {
  const timely = (item: I) => defer(() => run(item)).pipe(timeout({ each: longestMs }));
  return lastValueFrom(from(items).pipe(mergeMap(timely, atOnce), toArray()));
}

function tally(texts: readonly string[]): string {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].map(([text, count]) => `${text} ${count}`).join(', ');
}

function mean(values: readonly number[]): string {
  return (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(1);
}

function header(...names: readonly string[]): void {
  console.log('');
  row(...names);
  row(...names.map(() => '---'));
}

function row(...cells: readonly unknown[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}
