import { daysOf } from '../../vector/index.js';
import { gzipSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, type ColumnSource } from 'hyparquet-writer';
import { itemAt, type DeclaredType, type Value, type OutputColumn } from '../../core/index.js';
import { type ValueBatch, RowValues } from '../row-values.js';
import { metadataOf, type ByteTarget, type Encoding, type ParquetEngine } from '../engine.js';
import { engines } from '../engines.js';
import { bloomTypes, codecs } from '../storage.js';
import { zstd } from '../zstd.js';
import { footer, magic } from './footer.js';
import { createdBy, schemaOf, sortingOf } from './schema.js';

/** The engine on hyparquet-writer: dictionaries, statistics in byte order, V2 data pages, exact 64-bit values. */
export const hyparquetEngine: ParquetEngine<ValueBatch> = {
  rowGroup: (columns, plan) => new RowValues(columns, plan),

  async open(target, columns, encoding) {
    const compress = encoding.compression === 'zstd' ? (await zstd()).compress : undefined;
    const schema = schemaOf(columns);
    const bytes = new TargetWriter(target);
    const writer = new ParquetWriter({
      writer: bytes,
      schema,
      codec: codecs[encoding.compression],
      compressors: {
        GZIP: (bytes) => gzipSync(bytes),
        ...(compress && { ZSTD: (bytes) => compress(bytes, encoding.level ?? engines.hyparquet.zstd.level) }),
      },
      createdBy,
      kvMetadata: metadataOf(columns, encoding).map(([key, value]) => ({ key, value })),
    });
    const sorting = sortingOf(columns, encoding);
    return {
      async writeGroup({ columns: values, rows }) {
        await writer.write({
          rowGroupSize: rows,
          pageSize: encoding.columnIndex ? indexedPageBytes : pageBytes,
          columnData: columns.map((column, index) => sourceOf(column, itemAt(values, index), encoding)),
        });
      },
      async finish() {
        if (writer.row_groups.length === 0) {
          await target.append(magic);
          await target.append(footer({ createdBy, schema, groups: [], sorting, metadata: metadataOf(columns, encoding) }));
          return;
        }
        // The library has no option for this, but writes whatever its row groups contain.
        if (sorting.length > 0) for (const group of writer.row_groups) group.sorting_columns = sorting;
        await writer.finish();
        await bytes.flush();
      },
    };
  },
};

const pageBytes = 1024 * 1024;

/** 20,000 numbers of 64 bits. Pages of a megabyte would be whole row groups, and an index of one page adds nothing. */
const indexedPageBytes = 160_000;

/** Collects the bytes of one row group and appends them to the target when the group is complete. */
class TargetWriter extends ByteWriter {
  constructor(private readonly target: ByteTarget) {
    super();
  }

  async flush(): Promise<void> {
    await this.target.append(this.getBytes());
    this.index = 0;
  }
}

/** Returns the data of a column. The physical values are created when the column is written, so that they exist for only one column at a time. */
function sourceOf({ name, type }: OutputColumn, values: readonly Value[], { bloomFilters, columnIndex }: Encoding): ColumnSource {
  const bytes = type === 'text' && !repeats(values);
  return {
    name,
    columnIndex,
    bloomFilter: bloomTypes.includes(type) && bloomFilters.includes(name),
    // Some engines cannot read booleans in RLE, which is the library's default.
    ...(bytes || type === 'flag' ? { encoding: 'PLAIN' } : {}),
    get data() {
      return bytes ? utf8(values) : physical[type](values);
    },
  };
}

type Physical = (values: readonly Value[]) => Value[] | (number | null)[];

const asIs: Physical = (values) => [...values];

/** Converts dates to numbers, since dictionaries would treat date objects as different values. */
const physical: Readonly<Record<DeclaredType, Physical>> = {
  text: asIs,
  flag: asIs,
  integer: asIs,
  decimal: asIs,
  timestamp: (values) => values.map((value) => (value instanceof Date ? BigInt(value.getTime()) * 1000n : null)),
  date: (values) => values.map((value) => (value instanceof Date ? daysOf(value) : null)),
};

/** Number of values sampled to decide on a dictionary. */
const sample = 500;

/**
 * Returns whether a dictionary may be worthwhile for a column of texts. Other columns are passed as bytes: the library would encode value by value
 * with a new encoder each, which takes a third of the total time.
 */
function repeats(values: readonly Value[]): boolean {
  const step = Math.max(1, Math.floor(values.length / sample));
  const seen = new Set<Value>();
  let texts = 0;
  for (let index = 0; index < values.length; index += step) {
    const value = values[index];
    if (typeof value !== 'string') continue;
    texts += 1;
    seen.add(value);
  }
  return seen.size <= texts * 0.8;
}

/** Returns the bytes of texts, as views of one buffer. */
function utf8(values: readonly Value[]): (Uint8Array | null)[] {
  const bytes = Buffer.from(values.join(''));
  let end = 0;
  return values.map((value) => {
    if (typeof value !== 'string') return null;
    const start = end;
    end += Buffer.byteLength(value);
    return bytes.subarray(start, end);
  });
}
