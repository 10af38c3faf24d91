import { collections, columnsOf, originalName, type Field } from './columns.js';

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
    FROM ${pages(folder, 'areacodes')}
    ORDER BY lower(trim(state)), lower(trim(city)), CAST(percent_of_area_code_in_city AS DOUBLE) DESC, area_code
  )
  SELECT ${typed.join(', ')}, z.city AS zip_city, z.state AS zip_state,
    b.title AS bridge_title, b.niche AS bridge_niche, a.area_code AS area_area_code, a.city_population AS area_city_population
  FROM (SELECT DISTINCT ON (lead_id) * FROM ${pages(folder, 'leads')}) l
  LEFT JOIN read_csv('${zips}', all_varchar = true) z
    ON z.zip = CASE WHEN length(l.zipcode) = 5 THEN l.zipcode ELSE upper(left(l.zipcode, 3)) END
  LEFT JOIN ${pages(folder, 'bridges')} b ON b.id = l.bridge_id
  LEFT JOIN areas a ON a.state = lower(z.state) AND a.city = lower(z.city)
) TO '${folder}/out.parquet' (FORMAT parquet, COMPRESSION zstd)`;
}

function pages(folder: string, name: 'leads' | 'bridges' | 'areacodes'): string {
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
