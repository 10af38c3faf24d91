import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Row, Value } from '../../src/core/index.js';
import type { OutputColumn } from '../../src/core/index.js';
import type { Compression, Encoding } from '../../src/parquet/engine.js';
import { engineNames, engines, loadEngine, type EngineName } from '../../src/parquet/index.js';
import { closeVerified } from '../../src/lake/data-files.js';
import { tableRuns, type Manifest } from '../../src/lake/index.js';
import { PartialFile } from '../../src/store/index.js';
import { Batch } from '../../src/vector/record-batch.js';
import { FlatVector } from '../../src/vector/index.js';
import { vectorOf } from './batches.js';

/** Every engine with each of its codecs. */
export const engineCodecs: readonly (readonly [EngineName, Compression])[] = engineNames.flatMap((name) =>
  engines[name].map((compression) => [name, compression] as const),
);

export function output(name: string, type: OutputColumn['type'], original = name): OutputColumn {
  return { name, field: name, original, type };
}

export interface FileOptions extends Partial<Encoding> {
  readonly engine?: EngineName;
  /** Rows per row group; a list is repeated. */
  readonly groupRows?: number | readonly number[];
  /** Whether row groups are collected like those of a table with many partitions. */
  readonly many?: boolean;
  /** Whether text columns come as bytes. */
  readonly texts?: boolean;
}

/** Writes rows of exact values to one verified Parquet file in a folder, and returns its path. */
export async function fileOf(
  folder: string,
  columns: readonly OutputColumn[],
  rows: readonly Row[],
  options: FileOptions = {},
): Promise<string> {
  const { engine: name = 'arrow', groupRows = 10_000, many = false, texts = false, ...more } = options;
  const encoding: Encoding = { compression: 'snappy', sortedBy: [], metadata: {}, ...more };
  const path = join(folder, `${name}-${String((counter += 1))}.parquet`);
  const file = await PartialFile.open(`${path}.partial`, path);
  const engine = await loadEngine(name);
  const encoder = await engine.open(file, columns, encoding);
  const sizes = [groupRows].flat();
  const group = engine.rowGroup(columns, { rows: Math.max(...sizes), text: Infinity, sortedBy: encoding.sortedBy, many });
  for (let from = 0, turn = 0; from < rows.length; turn += 1) {
    const slice = rows.slice(from, from + (sizes[turn % sizes.length] ?? 1));
    const values = columns.map(({ name }) => slice.map((row): Value => row[name] ?? null));
    const vectors = values.map((some) => (texts ? vectorOf(some) : new FlatVector(some)));
    group.add(new Batch(slice.length, vectors), 0, slice.length);
    await encoder.writeGroup(group.take());
    from += slice.length;
  }
  await encoder.finish();
  await closeVerified(file, { columns, encoding, rows: rows.length });
  const { from, to } = file.action;
  await rename(from, to);
  return to;
}

let counter = 0;

/** The manifest of what readers see of a table; `undefined` if nothing is published. */
export async function publishedManifest(path: string) {
  const runs = await tableRuns(path).catch(() => []);
  return runs.find(({ state }) => state === 'published')?.manifest;
}

/** What is in the manifest of a run, apart from what a test is about. */
export const emptyManifest: Manifest = {
  version: 1,
  table: 'plain',
  run_id: '',
  pipeline: 'leads',
  fingerprint: '',
  collection: 'leads',
  started_at: '2026-01-01T00:00:00.000Z',
  finished_at: '2026-01-01T00:00:00.000Z',
  pages: 1,
  consistency: 'stable',
  mode: 'replace',
  partition_by: [],
  rows: 0,
  bytes: 0,
  run: { written: 0, unchanged: 0, changed: 0 },
  files: [],
  schema: [],
  undeclared: [],
  reads: {},
  success_file: false,
  output: 'leads',
  books: { leads: { written: 2 } },
};
