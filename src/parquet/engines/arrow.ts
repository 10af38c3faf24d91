import type { RowGroup } from 'hyparquet';
import { metadataOf, type ParquetEngine } from '../engine.js';
import { rowGroup, type TakenBytes } from './arrow/row-bytes.js';
import { sliceOf } from './arrow/splice.js';
import { groupEncoding } from './arrow/thread.js';
import { footer, magic } from './footer.js';
import { createdBy, schemaOf, sortingOf } from './schema.js';

/**
 * parquet-wasm (arrow-rs): dictionaries, statistics in byte order, V1 data pages that every reader takes, every value of
 * 64 bits exact. The level of zstd is always 1.
 *
 * Rows become column bytes as they come, texts of an answer without a string on the way, 0.5 µs each with 33 columns; a row group becomes
 * an Arrow stream and then a Parquet file of its own in memory, 4 µs a row, whose pages go into the target. The memory of the library
 * grows to what the largest row group needs, and is not given back before the thread that encodes ends.
 *
 * @param threads 1 encodes in a thread that all tables of the process share. The bytes are the same. Default 1 where it can be there and there is a core
 * for it.
 * @throws {SinkError} `E_SINK_CONFIG` for a thread that cannot be there.
 */
export function arrowEngine(threads?: number): ParquetEngine<TakenBytes> {
  const encoding = groupEncoding(threads);
  return {
    rowGroup: (columns, plan) => {
      encoding.start();
      return rowGroup(columns, plan);
    },

    async open(target, columns, how) {
      const groups: RowGroup[] = [];
      let written = 0;
      const append = async (bytes: Uint8Array) => {
        await target.append(bytes);
        written += bytes.length;
      };
      await append(magic);
      return {
        async writeGroup(group) {
          const slice = sliceOf(await encoding.encode(group, how.compression), written);
          await append(slice.bytes);
          groups.push(slice.group);
        },
        async finish() {
          const schema = schemaOf(columns);
          await append(footer({ createdBy, schema, groups, sorting: sortingOf(columns, how), metadata: metadataOf(columns, how) }));
        },
      };
    },

    close: () => encoding.close(),
  };
}
