/**
 * Compares nights that merge into a table of leads by month over two years with nights that replace it:
 *
 *   npm run bench:merge                             # 1,000,000 leads, two nights of each kind
 *   npm run bench:merge -- --rows 100000 --nights 4
 *
 * Every night, the last 1 % of the leads (a week) have changed, 0.1 % are new, and 0.1 % are gone: of the last month, or with `--gone anywhere`
 * of all. The night after repeats the last one. Each night is the command in a process of its own. Prints a table in Markdown.
 */
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { generate } from '../../src/service/index.js';
import { key } from './cases.js';
import { openWorkshop, output } from './children.js';
import { rendered } from './data.js';
import type { Usage } from './meter.js';
import { opened } from './pages.js';
import { spread } from './results.js';

const { values } = parseArgs({
  options: {
    ...{ rows: { type: 'string', default: '1000000' }, nights: { type: 'string', default: '2' } },
    gone: { type: 'string', default: 'month' },
  },
});
const rows = Number(values.rows);
const few = rows / 1000;
const from = values.gone === 'month' ? Math.floor(rows * (1 - 1 / 24)) : 0;
const { leads } = generate({ leads: rows + few, bridges: 200, seed: 1 });

/** Leads of two years in the order of their days; those that one night lacks are the new ones of the other. */
async function night(parity: 0 | 1) {
  const gone = new Set(Array.from({ length: few }, (_, n) => from + Math.floor((n * (rows - from)) / few)));
  const isListed = (index: number) => (parity === 0 ? index < rows : !gone.has(index));
  const indices = [...Array(rows + few).keys()].filter(isListed);
  const row = (place: number) => {
    const index = indices[place] ?? 0;
    const day = new Date(Date.UTC(2024, 0, 1) + Math.min(730, Math.floor((index * 731) / rows)) * 86_400_000).toISOString();
    const dated = leads.row(index).replace(/"yearmonthday":"\d+"/, `"yearmonthday":"${day.slice(0, 10).replaceAll('-', '')}"`);
    return index < rows * 0.99 ? dated : dated.replace(/"lead_status":"[^"]*"/, `"lead_status":"night ${parity}"`);
  };
  const pages = opened(await rendered(`merge-${values.gone}-${parity}-${rows}`, { count: indices.length, row }));
  const ids = new Map<string, number>();
  for (let first = 0; first < rows; first += 500) {
    const found = pages(first, 500)
      .toString('latin1')
      .matchAll(/"lead_id":"([^"]*)"/g);
    for (const [at, [, id = '']] of [...found].entries()) ids.set(id, first + at);
  }
  return { pages, one: (id: string) => pages(ids.get(id) ?? rows, 1) };
}

const lists = [await night(0), await night(1)] as const;
let list: (typeof lists)[number] = lists[0];
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://bench');
  const limit = Number(url.searchParams.get('limit'));
  const page = Number(url.searchParams.get('page'));
  const id = /^\/api\/leads\/(.+)/.exec(url.pathname)?.[1];
  if (id === undefined && page < 1) return response.writeHead(400).end();
  const body = id === undefined ? list.pages((page - 1) * limit, limit) : list.one(id);
  return response.writeHead(id !== undefined && body.length === 2 ? 404 : 200, { 'content-type': 'application/json' }).end(body);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const workshop = await openWorkshop();

interface Night extends Usage {
  readonly written: number;
  readonly index: number;
  readonly merged: unknown;
}

async function filesIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(files.map(async (file) => [file, (await stat(file)).size] as const)));
}

async function run(folder: string): Promise<Night> {
  const [usage, report, runs] = [join(folder, 'usage.json'), join(folder, 'report.json'), join(folder, '.out.runs')];
  const before = await filesIn(runs);
  const command = [resolve('dist/cli/main.cjs'), 'run', 'pipeline.yaml', '--quiet', '--report', report];
  const env = { ...process.env, BENCH_KEY: key, LEADSTREAM_BENCH_USAGE: usage };
  await output(['--import', pathToFileURL(workshop.meter).href, ...command], { cwd: folder, env });
  // The files of a plain table have other names for readers, outside of these folders.
  const own = /\.out\.runs\/(?:data|_leadstream)\//;
  const fresh = [...(await filesIn(runs))].filter(([file]) => !before.has(file) && own.test(file));
  const bytesOf = (ending: string) => fresh.reduce((sum, [file, bytes]) => sum + (file.endsWith(ending) ? bytes : 0), 0);
  const { sinks } = JSON.parse(await readFile(report, 'utf8')) as { readonly sinks: readonly [{ readonly merged?: unknown }] };
  const used: Usage = JSON.parse(await readFile(usage, 'utf8'));
  return { ...used, written: bytesOf('.parquet.stored'), index: bytesOf('.keys.bin'), merged: sinks[0].merged };
}

const kinds = ['replace', 'merge'] as const;
const folderOf = (mode: string) => join(workshop.folder, mode);
const measured = { replace: [] as Night[], merge: [] as Night[], 'replace, unchanged': [] as Night[], 'merge, unchanged': [] as Night[] };
try {
  for (const mode of kinds) {
    await mkdir(folderOf(mode));
    const parquet = { path: 'out', mode, partition_by: ['month'], ...(mode === 'merge' && { on_missing: 'delete' }) };
    const service = { base_url: url, auth: { rest_api_key: '${BENCH_KEY}' }, limit: 500, concurrency: 4, end_wait: '1ms' };
    const pipeline = { name: 'bench', service, from: 'leads', steps: [{ derive: { month: 'month(yearmonthday)' } }], to: [{ parquet }] };
    await writeFile(join(folderOf(mode), 'pipeline.yaml'), JSON.stringify(pipeline));
    await run(folderOf(mode));
  }
  for (let count = 1; count <= Number(values.nights); count += 1) {
    list = lists[count % 2 === 1 ? 1 : 0];
    for (const mode of kinds) measured[mode].push(await run(folderOf(mode)));
    for (const mode of kinds) measured[`${mode}, unchanged`].push(await run(folderOf(mode)));
  }
  const median = (nights: readonly Night[], value: (night: Night) => number) => spread(nights.map(value)).median;
  console.log(
    `${rows} rows, gone: ${values.gone}\n\n| night | CPU s | of replace | peak MB | data MB | of replace | index MB | merged |\n${'| --- '.repeat(8)}|`,
  );
  for (const [kind, nights] of Object.entries(measured)) {
    const cpu = (of: readonly Night[]) => median(of, (each) => each.cpuSeconds);
    const megabytes = (of: readonly Night[]) => median(of, (each) => each.written) / 1e6;
    const cells = [
      ...[kind, cpu(nights).toFixed(1), (cpu(nights) / cpu(measured.replace)).toFixed(2)],
      Math.round(median(nights, (each) => each.peakRss) / 2 ** 20),
      ...[megabytes(nights).toFixed(1), (megabytes(nights) / megabytes(measured.replace)).toFixed(3)],
      ...[(median(nights, (each) => each.index) / 1e6).toFixed(1), JSON.stringify(nights[0]?.merged ?? '')],
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
} finally {
  await workshop.close();
  server.close();
}
