/**
 * Measures speed and memory, compared to the floor and to what a user would write instead:
 *
 *   npm run bench                       # everything; writes test/bench/RESULTS.md; half an hour
 *   npm run bench -- --starts           # only how long the command and the library take to start
 *   npm run bench -- --only '^joins-' --rows 200000 --repeat 3
 *
 * The results of a partial run are printed.
 */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { planOf, type Case, type Section } from './cases.js';
import { openWorkshop, startServer, type Workshop } from './children.js';
import { dataset, zipTable } from './data.js';
import { measure, type Matches, type Measurement } from './measure.js';
import { markdown, type Measured } from './results.js';
import { timeStarts } from './starts.js';

const { values } = parseArgs({
  options: { starts: { type: 'boolean' }, only: { type: 'string' }, rows: { type: 'string' }, repeat: { type: 'string' } },
});
const plan = planOf({
  ...(values.only !== undefined && { only: new RegExp(values.only) }),
  ...(values.rows !== undefined && { rows: wholeNumber(values.rows) }),
  ...(values.repeat !== undefined && { repeat: wholeNumber(values.repeat) }),
});
const isWhole = Object.keys(values).length === 0;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const workshop = await openWorkshop();
try {
  const zips = await zipTable();
  const sections: [Section, readonly Measured[]][] = [];
  for (const section of values.starts ? [] : plan) sections.push([section, await measured(section, workshop, zips)]);
  const page = await markdown({ sections, starts: isWhole || values.starts ? await timeStarts(workshop, 15) : [] });
  if (isWhole) await writeFile('test/bench/RESULTS.md', page);
  else process.stdout.write(page);
} finally {
  await workshop.close();
}

/** Runs the cases of a section in turn, with its number of repetitions. The first output of each case is checked, and joins must agree. */
async function measured(section: Section, shop: Workshop, zips: string): Promise<readonly Measured[]> {
  tell(`\n${section.rows} rows, limit ${section.limit}`);
  const data = await dataset(section.rows, 200);
  const server = await startServer(shop, data);
  const runs = section.cases.filter(({ work }) => work !== 'duckdb' || hasCurl).map((each): readonly [Case, Measurement[]] => [each, []]);
  const joined: Matches[] = [];
  try {
    for (let round = 0; round < section.repeat; round += 1) {
      for (const [each, measurements] of runs) {
        const { measurement, matches } = await measure(each, { workshop: shop, server, data, zips, section }, round === 0);
        measurements.push(measurement);
        if (matches) joined.push(matches);
        tell(`  ${each.id.padEnd(28)} ${Math.round(measurement.rowsPerSecond)} rows/s, ${Math.round(measurement.peakRss / 2 ** 20)} MB`);
      }
    }
  } finally {
    await server.close();
  }
  if (new Set(joined.map((each) => JSON.stringify(each))).size > 1) throw new Error(`joins do not agree: ${JSON.stringify(joined)}`);
  return runs;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new TypeError(`${text} is not a whole number from 1 on`);
  return Number(text);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
