import { asyncBufferFromFile, parquetMetadataAsync, type FileMetaData } from 'hyparquet';
import { rename } from 'node:fs/promises';
import type { Row, Value } from '../../src/collections/index.js';
import type { OutputColumn } from '../../src/sinks/projection.js';
import { engines, loadEngine, type Compression, type Encoding, type EngineName } from '../../src/sinks/parquet/encoder.js';
import { Part } from '../../src/sinks/parquet/part.js';
import { RowGroup } from '../../src/sinks/parquet/row-group.js';

/** Every engine with each of its codecs. */
export const engineCodecs: readonly (readonly [EngineName, Compression])[] = (['hyparquet', 'parquetjs-lite'] as const).flatMap((name) =>
  engines[name].compressions.map((compression) => [name, compression] as const),
);

export function output(name: string, type: OutputColumn['type'], original = name): OutputColumn {
  return { name, field: name, original, type };
}

export interface FileOptions extends Partial<Encoding> {
  readonly engine?: EngineName;
  readonly groupRows?: number;
}

/** Writes rows of exact values to one verified Parquet file in a folder and gives its path. */
export async function fileOf(
  folder: string,
  columns: readonly OutputColumn[],
  rows: readonly Row[],
  options: FileOptions = {},
): Promise<string> {
  const { engine = 'hyparquet', groupRows = 10_000, ...more } = options;
  const encoding: Encoding = {
    compression: 'snappy',
    level: 3,
    bloomFilters: [],
    columnIndex: false,
    sortedBy: [],
    metadata: {},
    ...more,
  };
  const part = await Part.open(folder, `${engine}-${String((counter += 1))}.parquet`, 0o600);
  const writer = await part.begin(await loadEngine(engine), columns, encoding);
  const group = new RowGroup(columns, groupRows, encoding.sortedBy);
  for (let from = 0; from < rows.length; from += groupRows) {
    const slice = rows.slice(from, from + groupRows);
    group.add({ rows: slice.length, columns: columns.map(({ name }) => slice.map((row): Value => row[name] ?? null)) }, 0, slice.length);
    const batch = group.take();
    await writer.writeGroup(batch.columns, batch.rows);
  }
  await writer.finish();
  const { from, to } = part.move;
  await rename(from, to);
  return to;
}

let counter = 0;

export async function footerOf(path: string): Promise<FileMetaData> {
  return parquetMetadataAsync(await asyncBufferFromFile(path));
}
