import { Compression as Codec, EnabledStatistics, Table, WriterPropertiesBuilder, WriterVersion, writeParquet } from 'parquet-wasm';
import { codecs, type Compression } from '../../engine.js';
import type { GroupBytes } from './rows.js';

export function encodeGroup({ stream, plain }: GroupBytes, compression: Compression): Uint8Array {
  const table = Table.fromIPCStream(stream);
  let builder = new WriterPropertiesBuilder()
    .setWriterVersion(WriterVersion.V1)
    .setCompression(Codec[codecs[compression]])
    .setDictionaryEnabled(true)
    .setStatisticsEnabled(EnabledStatistics.Chunk)
    .setMaxRowGroupSize(0x7fff_ffff);
  for (const name of plain) builder = builder.setColumnDictionaryEnabled(name, false);
  // Writing consumes both, so neither is freed here.
  return writeParquet(table, builder.build());
}
