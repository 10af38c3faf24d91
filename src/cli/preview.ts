import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import type { Column, DeclaredType, Row, Value } from '../collections/index.js';
import { SinkError } from '../errors.js';

/** Prints the first rows of a Parquet table on stdout, as another program would read them. */
export async function previewTable(table: string, columns: readonly string[], rows: number): Promise<void> {
  const { readManifest, stdout } = await import('../index.js');
  const manifest = await readManifest(join(table, '_manifest.json'));
  const part = manifest?.files[0];
  if (!manifest || !part) throw new SinkError('E_SINK_VERIFY', `${table}: there is no manifest`);
  const records = await parquetReadObjects({
    file: await asyncBufferFromFile(join(table, part.name)),
    columns: [...columns],
    rowEnd: Math.min(rows, part.rows),
  });
  const shown: Column[] = columns.map((name) => ({ name, original: name, type: typeOf(name), cast: true, sensitivity: 'plain' }));
  const out = await stdout({ format: 'table' });
  await out.begin(shown);
  await out.write({
    number: 1,
    rows: records.map((record): Row => Object.fromEntries(columns.map((name) => [name, valueOf(record[name])]))),
    lease: { release: () => {} },
  });
  await out.finish();

  function typeOf(name: string): DeclaredType {
    return manifest?.schema.find((column) => column.name === name)?.type ?? 'text';
  }
}

function valueOf(value: unknown): Value {
  const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
  return plain || value instanceof Date ? value : null;
}
