/**
 * Compares nights that merge into a table of leads by month over two years with nights that replace it, in files and in PostgreSQL:
 *
 *   npm run bench:merge                             # 1,000,000 leads, two nights of each kind
 *   npm run bench:merge -- --rows 100000 --nights 4
 *   npm run bench:merge -- --to postgres --changed anywhere
 *
 * Every night, the last 1 % of the leads (a week) have changed, or with `--changed anywhere` every hundredth; 0.1 % are new, and 0.1 % are gone:
 * of the last month, or with `--gone anywhere` of all. The night after repeats the last one. Each night is the command in a process of its own,
 * and its CPU time and memory are measured. Every other night in PostgreSQL begins right after a checkpoint, so that its WAL has all pages that
 * it changes. Tables are vacuumed between nights. Prints a table in Markdown.
 */
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { generate } from '../../src/service/index.js';
import { postgresMissing, startPostgres } from '../support/postgres-server.js';
import { key } from './cases.js';
import { openWorkshop, output } from './children.js';
import { rendered } from './data.js';
import type { Usage } from './meter.js';
import { opened } from './pages.js';
import { spread } from './results.js';

const { values } = parseArgs({
  options: {
    ...{ rows: { type: 'string', default: '1000000' }, nights: { type: 'string', default: '2' } },
    ...{ to: { type: 'string', default: 'files, postgres' }, changed: { type: 'string', default: 'week' } },
    gone: { type: 'string', default: 'month' },
  },
});
const rows = Number(values.rows);
const few = rows / 1000;
const isChanged = (index: number) => (values.changed === 'week' ? index >= rows * 0.99 : index % 100 === 0);
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
    return !isChanged(index) ? dated : dated.replace(/"lead_status":"[^"]*"/, `"lead_status":"night ${parity}"`);
  };
  const pages = opened(await rendered(`merge-${values.gone}-${values.changed}-${parity}-${rows}`, { count: indices.length, row }));
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
  readonly seconds: number;
  readonly written: number;
  readonly index: number;
  readonly merged: unknown;
}

async function filesIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(files.map(async (file) => [file, (await stat(file)).size] as const)));
}

async function run(folder: string, database?: Database): Promise<Night> {
  const [usage, report, runs] = [join(folder, 'usage.json'), join(folder, 'report.json'), join(folder, '.out.runs')];
  const [before, start, position] = [await filesIn(runs), performance.now(), await database?.position()];
  const command = [resolve('dist/cli/main.cjs'), 'run', 'pipeline.yaml', '--quiet', '--report', report];
  const env = { ...process.env, BENCH_KEY: key, DATABASE_URL: database?.url, LEADSTREAM_BENCH_USAGE: usage };
  await output(['--import', pathToFileURL(workshop.meter).href, ...command], { cwd: folder, env });
  const [seconds, end] = [(performance.now() - start) / 1_000, await database?.position()];
  // The files of a plain table have other names for readers, outside of these folders.
  const own = /\.out\.runs\/(?:data|_leadstream)\//;
  const fresh = [...(await filesIn(runs))].filter(([file]) => !before.has(file) && own.test(file));
  const bytesOf = (ending: string) => fresh.reduce((sum, [file, bytes]) => sum + (file.endsWith(ending) ? bytes : 0), 0);
  const { sinks } = JSON.parse(await readFile(report, 'utf8')) as { readonly sinks: readonly [{ readonly merged?: unknown }] };
  const used: Usage = JSON.parse(await readFile(usage, 'utf8'));
  const written = end === undefined || position === undefined ? bytesOf('.parquet.stored') : end - position;
  return { ...used, seconds, written, index: bytesOf('.keys.bin'), merged: sinks[0].merged };
}

type Database = Awaited<ReturnType<typeof openDatabase>>;

async function openDatabase() {
  const { folder: host, port } = await startPostgres({ checkpoint_timeout: '1d', max_wal_size: '100GB' });
  const client = new Client({ host, port, user: 'postgres' });
  await client.connect();
  return {
    url: `postgres://postgres@${encodeURIComponent(host)}:${port}/postgres`,
    position: async () => Number((await client.query(`SELECT pg_current_wal_insert_lsn() - '0/0' AS at`)).rows[0].at),
    /** Does what autovacuum would do meanwhile. */
    async rest(isFresh: boolean) {
      await client.query('VACUUM ANALYZE');
      if (isFresh) await client.query('CHECKPOINT');
    },
    close: () => client.end(),
  };
}

const isLacking = values.to.includes('postgres') && postgresMissing !== undefined;
if (isLacking) console.error(`PostgreSQL IS NOT MEASURED: ${postgresMissing}`);
const database = values.to.includes('postgres') && !isLacking ? await openDatabase() : undefined;
const kinds = [
  ...(values.to.includes('files') ? (['replace', 'merge'] as const) : []).map((mode) => ({ mode, to: undefined })),
  ...(database ? (['replace', 'append', 'merge'] as const) : []).map((mode) => ({ mode, to: database })),
];
const folderOf = ({ mode, to }: (typeof kinds)[number]) => join(workshop.folder, `${to ? 'postgres ' : ''}${mode}`);
const measured = new Map<string, { readonly base: string; readonly nights: Night[] }>();
try {
  for (const kind of kinds) {
    const { mode, to } = kind;
    const merging = { mode, ...(mode === 'merge' && { on_missing: 'delete' }) };
    const parquet = { path: 'out', partition_by: ['month'], ...merging };
    const postgres = { url: '${DATABASE_URL}', table: mode, create: true, ...merging };
    const service = { base_url: url, auth: { rest_api_key: '${BENCH_KEY}' }, limit: 500, concurrency: 4, end_wait: '1ms' };
    const steps = [{ derive: { month: 'month(yearmonthday)' } }];
    await mkdir(folderOf(kind));
    const pipeline = { name: 'bench', service, from: 'leads', steps, to: [to ? { postgres } : { parquet }] };
    await writeFile(join(folderOf(kind), 'pipeline.yaml'), JSON.stringify(pipeline));
    await run(folderOf(kind), to);
  }
  for (let count = 1; count <= Number(values.nights); count += 1) {
    const isFresh = count % 2 === 1;
    list = lists[isFresh ? 1 : 0];
    for (const same of ['', ', unchanged'])
      for (const kind of kinds.filter(({ mode, to }) => !to || !same || mode === 'merge')) {
        const nameOf = (mode: string) => `${mode}${kind.to ? ` in PostgreSQL${isFresh ? ', after a checkpoint' : ''}` : ''}`;
        const [name, base] = [nameOf(kind.mode) + same, nameOf('replace')];
        await kind.to?.rest(isFresh);
        measured.set(name, { base, nights: [...(measured.get(name)?.nights ?? []), await run(folderOf(kind), kind.to)] });
      }
  }
  const median = (name: string, value: (night: Night) => number) => spread((measured.get(name)?.nights ?? []).map(value)).median;
  const heads = ['night', 'rows/s', 'CPU s', 'of replace', 'peak MB', 'MB of data or WAL', 'of replace', 'index MB', 'merged'];
  console.log(
    `${rows} rows, changed: ${values.changed}, gone: ${values.gone}\n\n| ${heads.join(' | ')} |\n${'| --- '.repeat(heads.length)}|`,
  );
  for (const [name, { base, nights }] of measured) {
    const cpu = (of: string) => median(of, (each) => each.cpuSeconds);
    const megabytes = (of: string) => median(of, (each) => each.written) / 1e6;
    const cells = [
      ...[name, Math.round(rows / median(name, (each) => each.seconds)), cpu(name).toFixed(1), (cpu(name) / cpu(base)).toFixed(2)],
      Math.round(median(name, (each) => each.peakRss) / 2 ** 20),
      ...[megabytes(name).toFixed(1), (megabytes(name) / megabytes(base)).toFixed(3)],
      ...[(median(name, (each) => each.index) / 1e6).toFixed(1), JSON.stringify(nights[0]?.merged ?? '')],
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
} finally {
  await database?.close();
  await workshop.close();
  server.close();
}
