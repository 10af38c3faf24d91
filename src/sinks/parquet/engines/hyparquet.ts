import { gzipSync } from 'node:zlib';
import type { CompressionCodec, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter, type ColumnSource } from 'hyparquet-writer';
import type { DeclaredType, Value } from '../../../collections/index.js';
import type { OutputColumn } from '../../projection.js';
import { zstd } from '../zstd.js';
import { daysOf, type ByteTarget, type Compression, type ParquetEngine } from '../encoder.js';

/**
 * hyparquet-writer: dictionaries, statistics in byte order, V2 data pages, every value of 64 bits exact.
 */
export const hyparquetEngine: ParquetEngine = {
  async open(target, columns, { compression, level }) {
    const writer = new ParquetWriter({
      writer: new TargetWriter(target),
      schema: [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)],
      codec: codecs[compression],
      compressors: { GZIP: (bytes) => gzipSync(bytes), ...(compression === 'zstd' ? { ZSTD: await zstdAt(level) } : {}) },
      createdBy: 'leadstream',
      kvMetadata: [{ key: 'leadstream.original_names', value: originalNames(columns) }],
    });
    return {
      async writeGroup(values, rows) {
        await writer.write({
          rowGroupSize: rows,
          columnData: columns.map(({ name, type }, index) => sourceOf(name, type, values[index] ?? [])),
        });
      },
      async finish() {
        await writer.finish();
      },
    };
  },
};

async function zstdAt(level: number) {
  const { compress } = await zstd();
  return (bytes: Uint8Array) => compress(bytes, level);
}

/** Collects the bytes of one row group and appends them to the target when the group is complete. */
class TargetWriter extends ByteWriter {
  constructor(private readonly target: ByteTarget) {
    super();
  }

  async flush(): Promise<void> {
    await this.target.append(this.getBytes());
    this.index = 0;
  }

  override async finish(): Promise<void> {
    await this.flush();
  }
}

const codecs: Readonly<Record<Compression, CompressionCodec>> = { zstd: 'ZSTD', snappy: 'SNAPPY', gzip: 'GZIP', none: 'UNCOMPRESSED' };

const elements: Readonly<Record<DeclaredType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  flag: { type: 'BOOLEAN' },
  integer: { type: 'INT64' },
  decimal: { type: 'DOUBLE' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
};

function elementOf({ name, type }: OutputColumn): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...elements[type] };
}

/** The physical values of a column are made when its turn comes, so that they exist for one column at a time. */
function sourceOf(name: string, type: DeclaredType, values: readonly Value[]): ColumnSource {
  const bytes = type === 'text' && !repeats(values);
  return {
    name,
    // Some engines do not read booleans in RLE, which is the default here.
    ...(bytes || type === 'flag' ? { encoding: 'PLAIN' } : {}),
    get data() {
      return bytes ? utf8(values) : physical[type](values);
    },
  };
}

type Physical = (values: readonly Value[]) => Value[] | (number | null)[];

const asIs: Physical = (values) => [...values];

/** Dates become numbers here: as objects they would count as different values in dictionaries. */
const physical: Readonly<Record<DeclaredType, Physical>> = {
  text: asIs,
  flag: asIs,
  integer: asIs,
  decimal: asIs,
  timestamp: (values) => values.map((value) => (value instanceof Date ? BigInt(value.getTime()) * 1000n : null)),
  date: (values) => values.map((value) => (value instanceof Date ? daysOf(value) : null)),
};

/** Values looked at to tell whether a dictionary can pay. */
const sample = 500;

/**
 * Whether a column of texts may be worth a dictionary. One that is not goes in as bytes: the library would make them one
 * by one with a new encoder for each value, which takes a third of all time.
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

/** The bytes of texts, as views of one buffer. */
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

function originalNames(columns: readonly OutputColumn[]): string {
  return JSON.stringify(Object.fromEntries(columns.map(({ name, original }) => [name, original])));
}
