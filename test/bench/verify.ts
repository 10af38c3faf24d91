import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** DuckDB's counts of an output. */
export interface Contents {
  readonly rows: number;
  /** Rows with a bridge and rows with an area code; absent without joins. */
  readonly bridges?: number;
  readonly areas?: number;
}

/**
 * Reads an output with DuckDB and counts its rows.
 *
 * @param pattern Absolute path of the output; the name may begin with `*`.
 * @throws {Error} If it does not have exactly that many rows, all with different `lead_id`.
 */
export async function verify(pattern: string, rows: number): Promise<Contents> {
  const table = batchOfTexts(pattern);
  const columns = await ask(`SELECT column_name AS name FROM (DESCRIBE SELECT * FROM ${table})`);
  const joined = columns.some(({ name }) => name === 'bridge_title');
  const joins = joined ? `, count(nullif(bridge_title, '')) AS bridges, count(nullif(area_area_code, '')) AS areas` : '';
  const [counted = {}] = await ask(`SELECT count(*) AS rows, count(DISTINCT lead_id) AS leads${joins} FROM ${table}`);
  if (Number(counted['rows']) !== rows || Number(counted['leads']) !== rows) {
    throw new Error(`${basename(pattern)} has ${String(counted['rows'])} rows with ${String(counted['leads'])} leads, not ${rows}`);
  }
  return { rows, ...(joined && { bridges: Number(counted['bridges']), areas: Number(counted['areas']) }) };
}

/** Returns the size of an output, over all its files. */
export async function bytesOf(pattern: string): Promise<number> {
  const [folder, name] = [dirname(pattern), basename(pattern)];
  const names = name.startsWith('*') ? (await readdir(folder)).filter((file) => file.endsWith(name.slice(1))) : [name];
  let bytes = 0;
  for (const file of names) bytes += (await stat(join(folder, file))).size;
  return bytes;
}

function batchOfTexts(pattern: string): string {
  if (pattern.endsWith('.csv')) return `read_csv('${pattern}', all_varchar = true, header = true)`;
  return pattern.endsWith('.ndjson') ? `read_json('${pattern}', format = 'newline_delimited')` : `read_parquet('${pattern}')`;
}

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
