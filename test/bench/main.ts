/**
 * Measures speed and memory, compared to the floor and to what a user would write instead:
 *
 *   npm run bench                       # everything; writes test/bench/RESULTS.md and RESULTS.json; 45 minutes
 *   npm run bench -- --quick            # whether everything works, on few rows
 *   npm run bench -- --growth           # only growing inputs and latency
 *   npm run bench -- --starts           # only how long the command and the library take to start
 *   npm run bench -- --only 'joins-' --rows 200000 --repeat 3 --profile
 *   npm run bench -- --only 'joins-' --rows 100000 --bridges 1000000
 *
 * The results of a partial run are printed; `--out DIR` writes them there. `--profile` leaves CPU profiles in `out/profiles`.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unavailable, type Case } from './cases.js';
import { openWorkshop, startServer, type Workshop } from './children.js';
import { dataset, zipTable } from './data.js';
import { judged } from './goals.js';
import { machine } from './machine.js';
import { markdown, type Results } from './markdown.js';
import { measure, type Measurement, type Surroundings } from './measure.js';
import { readOptions } from './options.js';
import { timeStarts } from './starts.js';
import { planOf, type Section } from './plan.js';
import { summarized, type SectionResult } from './statistics.js';
import type { Contents } from './verify.js';

const options = readOptions(process.argv.slice(2));
const started = performance.now();
const plan = options.starts ? [] : planOf(options);
const reasons = new Map<Case, string | undefined>();
for (const each of plan.flatMap(({ cases }) => cases)) reasons.set(each, await reasonToSkip(each));
const skipped = [...reasons].flatMap(([{ title }, reason]) => (reason === undefined ? [] : [{ title, reason }]));
for (const { title, reason } of skipped) tell(`NOT MEASURED: ${title}: ${reason}`);

const workshop = await openWorkshop();
try {
  const zips = await zipTable();
  const sections: SectionResult[] = [];
  for (const section of plan) sections.push(await measured(section, workshop, zips));
  const goals = options.only === undefined ? [...judged(sections), ...(await timeStarts(workshop, options.quick ? 3 : 15))] : [];
  const results: Results = { machine: await machine(), goals, sections, skipped };
  if (options.out === undefined) process.stdout.write(markdown(results));
  else {
    await mkdir(options.out, { recursive: true });
    await writeFile(join(options.out, 'RESULTS.md'), markdown(results));
    await writeFile(join(options.out, 'RESULTS.json'), `${JSON.stringify(results, null, 2)}\n`);
  }
} finally {
  await workshop.close();
}
tell(`${Math.round((performance.now() - started) / 1000)} s`);

/** Runs the cases of a section in turn, with its number of repetitions. The first output of each case is checked, and joins must agree. */
async function measured(section: Section, shop: Workshop, zips: string): Promise<SectionResult> {
  tell(`\n${section.title}`);
  const data = await dataset(section.rows, section.bridges);
  const server = await startServer(shop, { data, latencyMs: section.latencyMs });
  const around: Surroundings = { workshop: shop, server, data, zips, section, profile: options.profile };
  const runs = new Map<string, Measurement[]>();
  const joined: (readonly [Case, Contents])[] = [];
  try {
    for (let round = 0; round < section.repeat; round += 1) {
      for (const each of section.cases.filter((candidate) => reasons.get(candidate) === undefined)) {
        const { measurement, contents } = await measure(each, around, round === 0);
        runs.set(each.id, [...(runs.get(each.id) ?? []), measurement]);
        if (contents?.bridges !== undefined) joined.push([each, contents]);
        tell(`  ${each.id.padEnd(28)} ${Math.round(measurement.rowsPerSecond)} rows/s, ${Math.round(measurement.peakRss / 2 ** 20)} MB`);
      }
    }
  } finally {
    await server.close();
  }
  agree(joined);
  return summarized(section, runs);
}

/** @throws {Error} If two cases found different numbers of bridges or area codes. */
function agree(joined: readonly (readonly [Case, Contents])[]): void {
  const [first] = joined;
  for (const [which, { bridges, areas }] of joined) {
    if (first === undefined || (bridges === first[1].bridges && areas === first[1].areas)) continue;
    const [{ id }, expected] = first;
    throw new Error(`${which.id} found ${bridges} bridges and ${areas} areas, ${id} ${expected.bridges} and ${expected.areas}`);
  }
}

async function reasonToSkip(which: Case): Promise<string | undefined> {
  if (which.work === 'duckdb' && spawnSync('curl', ['--version']).status !== 0) return 'there is no curl on this machine';
  const reason = await unavailable(which);
  return reason === undefined ? undefined : `this build does not offer it (${reason})`;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
