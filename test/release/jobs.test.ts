import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate, openDirectory, type DataSource } from '../../src/service/index.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/**
 * Everyday jobs: a pipeline file each, and beside it what has to come out, as SQL over the records of the service. The line above a query names
 * the output.
 */
const folder = 'test/jobs';
const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).map((name) => name.replace(/\.yaml$/, ''));

const counts = { leads: 64, bridges: 7, links: 23, users: 9 } as const;
const day = 86_400;
let data: string;
let source: DataSource;

/** Leads of three months and of the last ten days, some with the address of an earlier one in another case. */
function leadOf(record: Record<string, string>, index: number, others: readonly Record<string, string>[], now: number): object {
  const recent = index >= counts.leads - 10;
  const timestamp = recent ? now - (counts.leads - 1 - index) * day - 60 : 1_767_600_000 + index * 1.5 * day;
  const twin = index % 5 === 4 ? others[index - 3]?.email?.toUpperCase() : undefined;
  const yearmonthday = new Date(timestamp * 1_000).toISOString().slice(0, 10).replaceAll('-', '');
  return { ...record, timestamp: String(timestamp), yearmonthday, ...(twin === undefined ? {} : { email: twin }) };
}

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'leadstream-jobs-'));
  const generated = generate({ ...counts, seed: 7 });
  const now = Math.floor(Date.now() / 1_000);
  for (const name of ['leads', 'bridges', 'links', 'users', 'areacodes'] as const) {
    const all = Array.from({ length: generated[name].count }, (_, row): Record<string, string> => JSON.parse(generated[name].row(row)));
    const records = name === 'leads' ? all.map((record, index) => leadOf(record, index, all, now)) : all;
    await writeFile(join(data, `${name}.ndjson`), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    const renamed =
      name === 'leads'
        ? 'rename ("LEAD ACCEPTED" as lead_accepted, "CONVERTED ON OFFER" as converted_on_offer, IPAddress as ip_address)'
        : '';
    const columns = Object.keys(all[0] ?? {}).map((field) => `'${field}': 'varchar'`);
    const read = `read_json('${data}/${name}.ndjson', columns = {${columns.join(', ')}})`;
    await duckdb(`create table ${name} as select row_number() over () as position, * ${renamed} from ${read}`);
  }
});

beforeAll(async () => {
  source = await openDirectory(data);
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

async function runIn(cwd: string, name: string) {
  const from = await service(source);
  const { code, stderr } = await cli(['run', join(process.cwd(), folder, `${name}.yaml`)], { cwd, env: from.env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

test.each(names)('the job: %s gives what DuckDB makes of the records', async (name) => {
  const cwd = await temporaryFolder();
  await runIn(cwd, name);
  const expectations = await expectationsOf(name);
  expect(expectations).not.toEqual([]);
  for (const { output, sql } of expectations) {
    const wanted = await textsOf(sql.replaceAll("read_csv('", `read_csv('${cwd}/`));
    const found = await textsOf(reading(join(cwd, output)));
    expect(found).toEqual(wanted);
    expect(found).not.toEqual([]);
  }
});
