import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { output, startServer, type Workshop } from './children.js';
import { dataset } from './data.js';
import { key, pipelineText } from './cases.js';
import { spread, type Goal } from './results.js';

const command = resolve('dist/cli/main.cjs');
const rows = 10_000;

/**
 * Times whole processes in turn, from start to end, as a user at a prompt would. Each has run before, so a run knows the row
 * counts of the lists, and Node (from 22.1) has kept compiled code.
 */
export async function timeStarts(workshop: Workshop, times: number): Promise<readonly Goal[]> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-bench-start-'));
  const server = await startServer(workshop, await dataset(rows, 200));
  const to = { parquet: { path: 'out/leads' } };
  const pipeline = pipelineText({ steps: ['dedupe', 'derive', 'joins'], to }, { baseUrl: server.url, limit: 500, concurrency: 4 });
  await writeFile(join(folder, 'pipeline.yaml'), pipeline);
  const timed = {
    help: () => milliseconds(['--help'], folder),
    validate: () => milliseconds(['validate', 'pipeline.yaml', '--quiet'], folder),
    run: () => milliseconds(['run', 'pipeline.yaml', '--quiet'], folder),
    rxjs: () => importCpu('rxjs'),
    library: () => importCpu(pathToFileURL(resolve('dist/leadstream.js')).href),
  };
  const taken: Record<keyof typeof timed, number[]> = { help: [], validate: [], run: [], rxjs: [], library: [] };
  try {
    for (let round = -1; round < times; round += 1)
      for (const [what, time] of Object.entries(timed) as [keyof typeof timed, () => Promise<number>][]) {
        const took = await time();
        if (round >= 0) taken[what].push(took);
      }
  } finally {
    await server.close();
    await rm(folder, { recursive: true });
  }
  const ratios = taken.library.map((cpu, at) => cpu / (taken.rxjs[at] ?? Number.NaN));
  return [
    under(250, 'leadstream --help', taken.help),
    under(500, 'leadstream validate', taken.validate),
    under(900, `leadstream run, ${rows.toLocaleString('en-US')} rows, two joins -> Parquet, again in its state folder`, taken.run),
    {
      what: 'importing the library',
      goal: 'at most 1.3 times the CPU of importing rxjs',
      measured: spread(ratios).median.toFixed(2),
      met: spread(ratios).median <= 1.3,
    },
  ];
}

function under(most: number, what: string, taken: readonly number[]): Goal {
  const { median, min, max } = spread(taken.map(Math.round));
  return { what: `\`${what}\`, start to end`, goal: `under ${most} ms`, measured: `${median} ms (${min} to ${max})`, met: median < most };
}

async function milliseconds(words: readonly string[], cwd: string): Promise<number> {
  const start = performance.now();
  await output([command, ...words], { cwd, env: { ...process.env, BENCH_KEY: key, XDG_CACHE_HOME: cwd } });
  return performance.now() - start;
}

/** Returns the CPU time of a process that imports a module and ends, in milliseconds. */
async function importCpu(module: string): Promise<number> {
  const source = `await import(${JSON.stringify(module)}); const { user, system } = process.cpuUsage(); console.log(user + system);`;
  return Number(await output(['--input-type=module', '--eval', source])) / 1000;
}
