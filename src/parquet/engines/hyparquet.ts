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

/** hyparquet-writer: dictionaries, statistics in byte order, V2 data pages, 64-bit values exact. */
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
        // The library has no option for it, but writes what its row groups contain.
        if (sorting.length > 0) for (const group of writer.row_groups) group.sorting_columns = sorting;
        await writer.finish();
        await bytes.flush();
      },
    };
  },
};

const pageBytes = 1024 * 1024;

/** 20,000 64-bit numbers: pages of a megabyte are whole row groups, and an index of one page adds nothing. */
const indexedPageBytes = 160_000;

/** Collects the bytes of a row group, and appends them to the target when it is complete. */
class TargetWriter extends ByteWriter {
  constructor(private readonly target: ByteTarget) {
    super();
  }

  async flush(): Promise<void> {
    await this.target.append(this.getBytes());
    this.index = 0;
  }
}

/** Makes the physical values of a column only when its turn comes, so that they exist for one column at a time. */
function sourceOf({ name, type }: OutputColumn, values: readonly Value[], { bloomFilters, columnIndex }: Encoding): ColumnSource {
  const bytes = type === 'text' && !repeats(values);
  return {
    name,
    columnIndex,
    bloomFilter: bloomTypes.includes(type) && bloomFilters.includes(name),
    // Some engines cannot read booleans in RLE, the default here.
    ...(bytes || type === 'flag' ? { encoding: 'PLAIN' } : {}),
    get data() {
      return bytes ? utf8(values) : physical[type](values);
    },
  };
}

type Physical = (values: readonly Value[]) => Value[] | (number | null)[];

const asIs: Physical = (values) => [...values];

/** Converts values. Dates become numbers, because as objects they would count as different values in dictionaries. */
const physical: Readonly<Record<DeclaredType, Physical>> = {
  text: asIs,
  flag: asIs,
  integer: asIs,
  decimal: asIs,
  timestamp: (values) => values.map((value) => (value instanceof Date ? BigInt(value.getTime()) * 1000n : null)),
  date: (values) => values.map((value) => (value instanceof Date ? daysOf(value) : null)),
};

/** Number of values sampled to decide whether a dictionary can pay off. */
const sample = 500;

/**
 * Whether a text column may be worth a dictionary. Otherwise it is passed as bytes: the library would convert each value with a new encoder, which
 * takes a third of the total time.
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
