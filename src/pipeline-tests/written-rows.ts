import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseString } from 'fast-csv';
import { textOf, type DeclaredType } from '../core/index.js';
import { type JsonRecord, JsonText, readJson } from '../json/index.js';
import { readGroups } from '../parquet/index.js';
import type { TextRow } from '../pipeline/index.js';

/**
 * Reads the rows written by a run: from a table of Parquet files, CSV with commas and a header, or JSON lines.
 *
 * @param typeOf The declared type of a column, to distinguish days from instants.
 * @returns What is wrong, in words, if the output cannot be read that way.
 */
export async function writtenRows(path: string, typeOf: (column: string) => DeclaredType): Promise<readonly TextRow[] | string> {
  if ((await stat(path)).isDirectory()) return tableRows(path, typeOf);
  if (path.endsWith('.csv')) return csvRows(await readFile(path, 'utf8'));
  if (/\.(?:ndjson|jsonl)$/.test(path)) return lineRows(await readFile(path));
  return 'is not a table or a .csv, .ndjson or .jsonl file; compare its text';
}

async function tableRows(path: string, typeOf: (column: string) => DeclaredType): Promise<readonly TextRow[]> {
  const entries = await readdir(path, { recursive: true });
  const rows: TextRow[] = [];
  for (const file of entries.filter((entry) => entry.endsWith('.parquet')).toSorted()) {
    // Partition columns exist only in the names of folders.
    const partition = file.split('/').flatMap((part) => /^([^=]+)=(.*)$/.exec(part)?.slice(1, 3) ?? []);
    const fixed = partition.length === 0 ? {} : Object.fromEntries(pairsOf(partition));
    for await (const group of readGroups(join(path, file)))
      rows.push(
        ...group.map((row) => ({
          ...fixed,
          ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value ?? null, typeOf(name))])),
        })),
      );
  }
  return rows;
}

function pairsOf(flat: readonly string[]): readonly (readonly [string, string])[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, decodeURIComponent(flat[index + 1] ?? '')] as const] : []));
}

function csvRows(text: string): Promise<readonly TextRow[]> {
  return new Promise((resolve, reject) => {
    const rows: TextRow[] = [];
    parseString<Record<string, string>, TextRow>(text, { headers: true })
      .on('error', reject)
      .on('data', (row: TextRow) => rows.push(row))
      .on('end', () => resolve(rows));
  });
}

function lineRows(bytes: Buffer): readonly TextRow[] | string {
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  const rows: TextRow[] = [];
  for (const [index, line] of lines.entries()) {
    const record = readJson(Buffer.from(line));
    if (!isRecord(record)) return `line ${index + 1} is not a JSON object`;
    rows.push(Object.fromEntries(Object.entries(record).map(([name, value]) => [name, value instanceof JsonText ? value.text : value])));
  }
  return rows;
}

function isRecord(value: ReturnType<typeof readJson>): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonText);
}
