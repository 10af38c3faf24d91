import { join } from 'node:path';
import { type Column, type DeclaredType, type Row, SinkError } from '../core/index.js';
import { printRows } from './rows.js';

/** Prints the first rows of a Parquet table on stdout, as another program would read them. */
export async function previewTable(stdout: NodeJS.WritableStream, table: string, columns: readonly string[], rows: number): Promise<void> {
  const { publishedManifest, readGroups } = await import('../index.js');
  const manifest = await publishedManifest(table);
  const file = manifest?.files[0];
  if (!manifest || !file) throw new SinkError('E_SINK_VERIFY', `${table}: there is no manifest`);
  const shown: Column[] = columns.map((name) => ({ name, original: name, type: typeOf(name), cast: true, sensitivity: 'plain' }));
  await printRows(stdout, shown, await firstRows(join(table, file.name)));

  async function firstRows(path: string): Promise<readonly Row[]> {
    for await (const group of readGroups(path, columns)) return group.slice(0, rows);
    return [];
  }

  function typeOf(name: string): DeclaredType {
    return manifest?.schema.find((column) => column.name === name)?.type ?? 'text';
  }
}
