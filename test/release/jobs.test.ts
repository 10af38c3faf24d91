import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { generate } from '../../src/service/index.js';
import { changing, type Lists } from '../support/changing.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import type { Lead } from '../support/nights.js';
import { inPostgres } from '../support/postgres.js';
import { pythonReaders } from '../support/python.js';
import { service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/**
 * Everyday jobs: a pipeline file each, and beside it what has to come out, as SQL over the records of the service. The line above a query names
 * the output, or is the query of a reader of the database.
 */
const folder = 'test/jobs';
const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).map((name) => name.replace(/\.sql$/, ''));
const ofDatabases = names.filter((name) => name.includes('postgres'));
const others = ['how-it-was', ...ofDatabases];
const iceberg = pythonReaders('test/readers/iceberg.py', 'pyiceberg, pyiceberg_core, sqlalchemy, pyarrow, duckdb_extension_iceberg');

const counts = { leads: 64, bridges: 7, links: 23, users: 9 } as const;
const day = 86_400;
let data: string;
const nights: Record<'' | 'earlier_', Lists> = { '': {}, earlier_: {} };

/** Leads of three months and of the last ten days, some with the address of an earlier one in another case, or with its phone. */
function leadOf(record: Record<string, string>, index: number, others: readonly Record<string, string>[], now: number) {
  const recent = index >= counts.leads - 10;
  const timestamp = recent ? now - (counts.leads - 1 - index) * day - 60 : 1_767_600_000 + index * 1.5 * day;
  const twin = index % 5 === 4 ? others[index - 3]?.email?.toUpperCase() : undefined;
  const yearmonthday = new Date(timestamp * 1_000).toISOString().slice(0, 10).replaceAll('-', '');
  const added = { ...(index % 7 > 0 && { 'Credit Score': String(300 + ((index * 97) % 551)) }), license: `B${1_000_000 + index}` };
  const cell_phone = others[index % 7 === 6 ? index - 4 : index]?.cell_phone;
  return { ...record, timestamp: String(timestamp), yearmonthday, cell_phone, ...(twin === undefined ? {} : { email: twin }), ...added };
}

/** Those of the night before: one is gone since then, four came, and some were corrected. */
const earlierOf = ([first, ...others]: readonly Readonly<Record<string, unknown>>[]) =>
  [{ ...first, lead_id: 'gone' }, ...others.slice(0, -3)].map((lead, index) => (index % 7 === 3 ? { ...lead, lead_status: 'open' } : lead));

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'leadstream-jobs-'));
  const generated = generate({ ...counts, seed: 7 });
  const now = Math.floor(Date.now() / 1_000);
  for (const night of ['', 'earlier_'] as const) {
    for (const name of ['leads', 'bridges', 'links', 'users', 'areacodes'] as const) {
      const all = Array.from({ length: generated[name].count }, (_, row): Record<string, string> => JSON.parse(generated[name].row(row)));
      const last = name === 'leads' ? all.map((record, index) => leadOf(record, index, all, now)) : all;
      const records = name === 'leads' && night !== '' ? earlierOf(last) : last;
      nights[night][name] = records;
      await writeFile(join(data, `${night}${name}.ndjson`), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      const renamed =
        name === 'leads'
          ? `rename ("LEAD ACCEPTED" as lead_accepted, "CONVERTED ON OFFER" as converted_on_offer, IPAddress as ip_address,
              "Credit Score" as credit_score)`
          : '';
      const columns = Object.keys({ ...all[0], ...last[1] }).map((field) => `'${field}': 'varchar'`);
      const read = `read_json('${data}/${night}${name}.ndjson', columns = {${columns.join(', ')}})`;
      await duckdb(`create table ${night}${name} as select row_number() over () as position, * ${renamed} from ${read}`);
    }
  }
  const { codes } = createRequire(import.meta.url)('zipcodes') as { readonly codes: Readonly<Record<string, object>> };
  await writeFile(join(data, 'zips.json'), JSON.stringify(Object.values(codes)));
  await duckdb(`create table zips as from read_json('${data}/zips.json', columns = {'zip': 'varchar', 'state': 'varchar'})`);
});

afterAll(() => rm(data, { recursive: true }));

/** The rows of a query, every value as text; nobody tells an empty text from none. */
const textsOf = (from: string) => duckdb(`select nullif(columns(*)::varchar, '') from (${from})`);

function reading(path: string): string {
  if (path.endsWith('.csv')) return `from read_csv('${path}', all_varchar = true)`;
  if (path.endsWith('.ndjson')) return `from read_json('${path}')`;
  return `from read_parquet('${path}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)`;
}

async function expectationsOf(name: string): Promise<readonly { output: string; sql: string }[]> {
  const text = await readFile(join(folder, `${name}.sql`), 'utf8');
  return text
    .split(/^-- /m)
    .slice(1)
    .map((part) => {
      const [output = '', ...lines] = part.split('\n');
      return { output, sql: lines.join('\n').trim().replace(/;$/, '') };
    });
}

/** Returns what runs a job in a folder, every night at one address. */
async function jobIn(cwd: string, name: string, env: Readonly<Record<string, string>> = {}) {
  const lists: Lists = {};
  const from = await service(changing(lists));
  const other = await service(changing(lists));
  const own = join(folder, `${name}.yaml`);
  const file = resolve(existsSync(own) ? own : join('examples', `${name}.yaml`));
  return async (night: keyof typeof nights = '') => {
    Object.assign(lists, nights[night]);
    const { code, stderr } = await cli(['run', file, '--parallel', '3'], { cwd, env: { ...from.env, OTHER_URL: other.url, ...env } });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  };
}

/** @param rowsOf What a reader finds, if not in files. */
async function check(cwd: string, name: string, rowsOf?: (heading: string) => Promise<readonly unknown[]>) {
  const expectations = await expectationsOf(name);
  expect(expectations).not.toEqual([]);
  for (const { output, sql } of expectations) {
    const wanted = await textsOf(sql.replaceAll("read_csv('", `read_csv('${cwd}/`));
    const rows = await rowsOf?.(output);
    if (rows) await writeFile(join(cwd, 'found.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const found = await textsOf(rows ? `${reading(join(cwd, 'found.ndjson'))} order by all` : reading(join(cwd, output)));
    expect(found).toEqual(wanted);
    expect(found).not.toEqual([]);
  }
}

test.each(names.filter((name) => !others.includes(name)))('the job: %s gives what DuckDB makes of the records', async (name) => {
  const cwd = await temporaryFolder();
  const run = await jobIn(cwd, name);
  if (name === 'kept-up-to-date') await run('earlier_');
  await run();
  await check(cwd, name);
});

iceberg.testByReaders(
  'the job: how-it-was has the rows of an earlier night, by the queries of the guide in DuckDB and pyiceberg',
  async () => {
    const cwd = await temporaryFolder();
    const run = await jobIn(cwd, 'how-it-was');
    await run('earlier_');
    const [time, page] = [new Date().toISOString().replace('Z', ''), await readFile('pipelines/guide/history.md', 'utf8')];
    await run();
    await check(cwd, 'how-it-was', async (language) => {
      const [, example = ''] = new RegExp(`\`\`\`${language}\n([^]*?);?\n\`\`\``).exec(page) ?? [];
      const query = example.replaceAll(/2026-03-01.00:00:00/g, time).replace("'lake", `'${cwd}/lake`);
      const table = join(cwd, 'lake/iceberg/metadata/v2.metadata.json');
      const rows: Lead[] = language === 'sql' ? await duckdb(query) : JSON.parse(await iceberg.python('example', table, query));
      return rows.map(({ lead_id, lead_status }) => ({ lead_id, lead_status }));
    });
  },
);

inPostgres('the second night of the job', (database) => {
  test.each(ofDatabases)('%s gives what DuckDB makes of the records, to a reader who was let in after the first one', async (name) => {
    const [db, cwd] = [await database(), await temporaryFolder()];
    const [run, reader] = [await jobIn(cwd, name, { DATABASE_URL: db.url }), `reader_of_${db.name}`];
    await run('earlier_');
    await db.query(`CREATE ROLE ${reader} LOGIN; CREATE SCHEMA IF NOT EXISTS crm; GRANT USAGE ON SCHEMA crm TO ${reader}`, 'postgres');
    await db.query(`GRANT SELECT ON ALL TABLES IN SCHEMA crm, public TO ${reader}`, 'postgres');
    await run();
    await check(cwd, name, (query) => db.query(query, reader));
  });
});
