import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline } from '../../src/run/index.js';
import { duckdb } from '../support/duckdb.js';
import { service, testKey } from '../support/services.js';
import { generate } from '../../src/service/index.js';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';

const leads = 10_001;
let folder: string;

/** The service's own JSON, as any program would get it. */
async function raw(url: string, collection: string): Promise<string> {
  const records: unknown[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await fetch(`${url}/api/${collection}?page=${page}&limit=500&rest_api_key=${encodeURIComponent(testKey)}`);
    const rows = (await answer.json()) as unknown[];
    if (rows.length === 0) break;
    records.push(...rows);
  }
  const file = join(folder, `${collection}.json`);
  await writeFile(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return `read_json('${file}', format = 'newline_delimited', columns = {${Object.keys(records[0] as object)
    .map((name) => `'${name}': 'VARCHAR'`)
    .join(', ')}})`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-enriched-'));
  const from = await service(generate({ leads, seed: 7 }));
  const set = { 'to.0.parquet.path': 'arrow', 'to.1.csv.path': 'arrow.csv' };
  await runPipeline(await loadPipeline('pipelines/leads-enriched.yaml', { env: from.env, baseDir: folder, set }));
  const [rawLeads, rawBridges, rawAreacodes] = [
    await raw(from.url, 'leads'),
    await raw(from.url, 'bridges'),
    await raw(from.url, 'areacodes'),
  ];
  // The join as an analyst would write it, over the service's JSON; the city of a zipcode is taken from the export.
  await duckdb(`copy (
    with area as (
      select *, row_number() over (partition by lower(trim(state)), lower(trim(city)) order by percent_of_area_code_in_city::double desc, area_code) as rank from ${rawAreacodes}
    )
    select l.lead_id, b.title as bridge_title, b.niche as bridge_niche, b.name as bridge_name, a.area_code as area_area_code, a.city_population::bigint as area_city_population,
      l.zipcode, l."IPAddress" as ip_address, to_timestamp(l."timestamp"::bigint) as "timestamp", strptime(l.yearmonthday, '%Y%m%d')::date as yearmonthday,
      case when l.age = '' then null else l.age::bigint end as age, lower(l."LEAD ACCEPTED") in ('yes', 'y', 'true', '1') as lead_accepted, l.meta, l.tag_string_local
    from ${rawLeads} l
    left join ${rawBridges} b on l.bridge_id = b.id
    left join '${folder}/arrow/*.parquet' p on p.lead_id = l.lead_id
    left join area a on lower(trim(p.zip_state)) = lower(trim(a.state)) and lower(trim(p.zip_city)) = lower(trim(a.city)) and a.rank = 1
  ) to '${folder}/expected.parquet' (format parquet)`);
}, 300_000);

describe('leads-enriched.yaml', () => {
  const table = () => `'${folder}/arrow/*.parquet'`;

  test('has every lead of the service once', async () => {
    expect(await duckdb(`select count(*)::int as rows, count(distinct lead_id)::int as leads from ${table()}`)).toEqual([
      { rows: leads, leads },
    ]);
  });

  test('has the types of the design', async () => {
    const types = await duckdb(`select column_name, column_type from (describe select * from ${table()})`);
    const typeOf = Object.fromEntries(types.map(({ column_name, column_type }) => [String(column_name), String(column_type)]));
    expect(typeOf).toMatchObject({
      lead_id: 'VARCHAR',
      zipcode: 'VARCHAR',
      lead_accepted: 'BOOLEAN',
      converted_on_offer: 'BOOLEAN',
      is_valid: 'BOOLEAN',
      age: 'BIGINT',
      timestamp: 'TIMESTAMP WITH TIME ZONE',
      yearmonthday: 'DATE',
      area_city_population: 'BIGINT',
      bridge_title: 'VARCHAR',
    });
    expect(typeOf).not.toHaveProperty('sin_number');
  });

  test('equals the join that DuckDB makes of the raw JSON', async () => {
    const columns =
      'lead_id, bridge_title, bridge_niche, bridge_name, area_area_code, area_city_population, zipcode, ip_address, epoch_us("timestamp") as at, yearmonthday, age, lead_accepted, meta, tag_string_local';
    const expected = `select ${columns} from '${folder}/expected.parquet'`;
    const seen = `select ${columns} from ${table()}`;
    expect(await duckdb(`select count(*)::int as rows from (${expected})`)).toEqual([{ rows: leads }]);
    expect(await duckdb(`(${expected} except ${seen}) union all (${seen} except ${expected})`)).toEqual([]);
  });

  test('has the same rows as the CSV beside it', async () => {
    const csv = `read_csv('${folder}/arrow.csv', all_varchar = true, header = true, quote = '"', escape = '"', new_line = '\\n')`;
    const [row] = await duckdb(
      `select count(*)::int as rows from ${table()} p join ${csv} c on p.lead_id = c.lead_id and p.zipcode is not distinct from coalesce(c.zipcode, '') and coalesce(p.bridge_title, '') = coalesce(c.bridge_title, '') and coalesce(p.area_area_code, '') = coalesce(c.area_area_code, '')`,
    );
    expect(row?.rows).toBe(leads);
  });
});
