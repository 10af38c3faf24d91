import { buffer } from 'node:stream/consumers';
import type { Schema } from 'avsc';
import { isMap } from '../../core/index.js';

/** Reads an object container file: https://avro.apache.org/docs/1.12.0/specification/#object-container-files. Integers beyond 2^53 are bigints. */
export async function readAvro(bytes: Buffer): Promise<AvroContent> {
  const { streams, typeOf } = await exactAvro();
  let schema: unknown;
  const decoder = new streams.BlockDecoder({ parseHook: (written) => typeOf((schema = written)) });
  let header: Header | undefined;
  decoder.on('metadata', (_type, _codec, found: Header) => (header = found));
  const reading = decoder.toArray();
  decoder.end(bytes);
  const records: readonly unknown[] = await reading;
  // A file that ends between two blocks, or right after its header, is whole: who reads it has to know how much it has.
  if (header === undefined || !bytes.subarray(-header.sync.length).equals(header.sync)) throw new Error('the file is cut');
  return { schema, metadata: header.meta, records };
}

export interface AvroContent {
  readonly schema: unknown;
  readonly metadata: Readonly<Record<string, Buffer>>;
  readonly records: readonly unknown[];
}

interface Header {
  readonly meta: AvroContent['metadata'];
  readonly sync: Buffer;
}

export async function writeAvro(schema: unknown, metadata: Readonly<Record<string, string>>, records: readonly unknown[]): Promise<Buffer> {
  const { streams, typeOf } = await exactAvro();
  // avsc itself would leave the ids of fields out of the schema.
  const texts = Object.entries({ ...metadata, 'avro.schema': JSON.stringify(schema) });
  const header = Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text)]));
  const options = { codec: 'deflate', writeHeader: 'always', metadata: header } as const;
  const encoder = new streams.BlockEncoder(typeOf(schema), options);
  const reading = buffer(encoder);
  for (const record of records) encoder.write(record);
  encoder.end();
  return reading;
}

async function exactAvro() {
  const { streams, Type, types } = (await import('avsc')).default;
  const long = types.LongType.__with({
    fromBuffer: (bytes: Buffer) => {
      const value = bytes.readBigInt64LE();
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    },
    toBuffer: (value: number | bigint) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(value));
      return bytes;
    },
    isValid: (value: unknown) => typeof value === 'bigint' || Number.isSafeInteger(value),
    compare: (one: number | bigint, other: number | bigint) => Number(one) - Number(other),
    fromJSON: BigInt,
    toJSON: Number,
  });
  // The registry has names only, and a type with a logical one, such as an instant, is no name.
  const typeHook = (schema: Schema) => (isMap(schema) && schema.type === 'long' ? long : undefined);
  return { streams, typeOf: (schema: unknown) => Type.forSchema(schema as Schema, { registry: { long }, typeHook }) };
}
