import { createHash } from 'node:crypto';
import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collections, columnsOf, originalName, zipPlaces, type Field } from '../../src/collections/index.js';
import { generate } from '../../src/service/index.js';

/** Rendered rows of one collection: a file `{…},{…}` and the offset of every row in it, so that any page is one slice. */
export interface Rendered {
  readonly body: string;
  /** Float64 offsets, one more than there are rows; the last one is where the next row would begin. */
  readonly offsets: string;
  readonly rows: number;
}

/** The data of a page server. */
export interface Dataset {
  readonly leads: Rendered;
  readonly bridges: Rendered;
  readonly areacodes: Rendered;
}

/** Folder where rendered rows are kept between runs: 0.8 GB per million leads. */
const cache = join(tmpdir(), 'leadstream-bench');

/** Renders the rows that the generator makes for a seed, or reuses those rendered by an earlier run. */
export async function dataset(leads: number, bridges: number): Promise<Dataset> {
  const source = generate({ leads, bridges, seed: 1 });
  return {
    leads: await rendered(`leads-${leads}-${bridges}`, source.leads),
    bridges: await rendered(`bridges-${bridges}`, source.bridges),
    areacodes: await rendered('areacodes', source.areacodes),
  };
}

/**
 * Writes the zipcodes of the package `zipcodes` to a CSV file with zip, city and state, which DuckDB needs for the same enrichment.
 *
 * @returns Its path.
 */
export async function zipTable(): Promise<string> {
  await mkdir(cache, { recursive: true });
  const lines = zipPlaces().map(([zip, { city, state }]) => `${zip},"${city}",${state}`);
  const path = join(cache, 'zips.csv');
  await writeFile(path, `zip,city,state\n${lines.join('\n')}\n`);
  return path;
}

interface Rows {
  readonly count: number;
  row(index: number): string;
}

/** Renders rows, or reuses those that an earlier run rendered by that name. */
export async function rendered(name: string, table: Rows): Promise<Rendered> {
  const body = join(cache, `${name}-${lookOf(table)}.json`);
  const found = { body, offsets: `${body}.offsets`, rows: table.count };
  const complete = await stat(found.offsets).catch(() => undefined);
  if (complete === undefined) await render(table, found);
  return found;
}

/** Returns a fingerprint of the rows, so that a changed generator does not reuse old files. */
function lookOf({ count, row }: Rows): string {
  const hash = createHash('sha256');
  for (const index of [0, count >> 1, count - 1]) hash.update(row(index));
  return hash.digest('hex').slice(0, 12);
}

/** Writes the offsets last: if they exist, the body is complete. */
async function render(table: Rows, { body, offsets }: Rendered): Promise<void> {
  const at = new Float64Array(table.count + 1);
  await mkdir(cache, { recursive: true });
  const file = await open(`${body}.part`, 'w');
  for (let start = 0, offset = 0; start < table.count;) {
    const texts: string[] = [];
    for (; texts.length < 5_000 && start < table.count; start += 1) {
      const text = table.row(start);
      texts.push(text);
      offset += Buffer.byteLength(text) + 1;
      at[start + 1] = offset;
    }
    await file.writeFile(texts.join(',') + (start < table.count ? ',' : ''));
  }
  await file.close();
  await rename(`${body}.part`, body);
  await writeFile(`${offsets}.part`, new Uint8Array(at.buffer));
  await rename(`${offsets}.part`, offsets);
}

/**
 * Returns the statement with which DuckDB does the same as the pipeline with dedupe, derive and both joins: typed columns, one row per lead, city and
 * state by zipcode, the bridge, and the area code with the largest share of the city.
 *
 * @param folder Contains the pages as `leads-1.json`, …; receives `out.parquet`.
 * @param zips CSV file with zip, city and state.
 */
export function enrichment(folder: string, zips: string): string {
  const typed = columnsOf(collections.leads).map(({ original, name, type }) => `${cast(`l."${original}"`, type)} AS ${name}`);
  return `COPY (
  WITH areas AS (
    SELECT DISTINCT ON (lower(trim(state)), lower(trim(city)))
      lower(trim(state)) AS state, lower(trim(city)) AS city, area_code, CAST(nullif(city_population, '') AS BIGINT) AS city_population
    FROM ${listIn(folder, 'areacodes')}
    ORDER BY lower(trim(state)), lower(trim(city)), CAST(percent_of_area_code_in_city AS DOUBLE) DESC, area_code
  )
  SELECT ${typed.join(', ')}, z.city AS zip_city, z.state AS zip_state,
    b.title AS bridge_title, b.niche AS bridge_niche, a.area_code AS area_area_code, a.city_population AS area_city_population
  FROM (SELECT DISTINCT ON (lead_id) * FROM ${listIn(folder, 'leads')}) l
  LEFT JOIN read_csv('${zips}', all_varchar = true) z
    ON z.zip = CASE WHEN length(l.zipcode) = 5 THEN l.zipcode ELSE upper(left(l.zipcode, 3)) END
  LEFT JOIN ${listIn(folder, 'bridges')} b ON b.id = l.bridge_id
  LEFT JOIN areas a ON a.state = lower(z.state) AND a.city = lower(z.city)
) TO '${folder}/out.parquet' (FORMAT parquet, COMPRESSION zstd)`;
}

function listIn(folder: string, name: 'leads' | 'bridges' | 'areacodes'): string {
  const columns = Object.entries(collections[name].fields).map(([column, field]: [string, Field]) => {
    return `'${originalName(column, field)}': 'VARCHAR'`;
  });
  return `read_json('${folder}/${name}-*.json', format = 'array', columns = {${columns.join(', ')}})`;
}

function cast(value: string, type: string): string {
  const given = `nullif(${value}, '')`;
  if (type === 'flag') return `CAST(${given} AS BOOLEAN)`;
  if (type === 'integer') return `CAST(${given} AS BIGINT)`;
  if (type === 'decimal') return `CAST(${given} AS DOUBLE)`;
  if (type === 'timestamp') return `to_timestamp(CAST(${given} AS BIGINT))`;
  if (type === 'date') return `CAST(strptime(${given}, '%Y%m%d') AS DATE)`;
  return value;
}
