import { randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Schema, Type } from 'avsc';

/** An object container file: https://avro.apache.org/docs/1.12.0/specification/#object-container-files */
export interface AvroFile {
  readonly schema: unknown;
  /** The metadata of its header. */
  readonly header: Readonly<Record<string, string>>;
  readonly records: readonly unknown[];
}

/** @throws {Error} For bytes that are no such file, and for a codec that Iceberg's writers do not use by default. */
export async function readAvro(bytes: Buffer): Promise<AvroFile> {
  const { header: headerType, block: blockType } = await containerTypes();
  let { value, offset } = decoded<{ readonly meta: Readonly<Record<string, Buffer>> }>(headerType, bytes, 0);
  const header = Object.fromEntries(Object.entries(value.meta).map(([name, text]) => [name, text.toString()]));
  const { 'avro.schema': text = '', 'avro.codec': codec = 'null' } = header;
  if (codec !== 'null' && codec !== 'deflate') throw new Error(`the codec is ${codec}, not deflate`);
  const schema: unknown = JSON.parse(text);
  const type = await typeOf(schema as Schema);
  const records: unknown[] = [];
  while (offset < bytes.length) {
    const block = decoded<{ readonly count: number; readonly data: Buffer }>(blockType, bytes, offset);
    const data = codec === 'deflate' ? inflateRawSync(block.value.data) : block.value.data;
    for (let count = 0, at = 0; count < block.value.count; count += 1) {
      const record = decoded(type, data, at);
      records.push(record.value);
      at = record.offset;
    }
    offset = block.offset;
  }
  return { schema, header, records };
}

/** @param schema As in the specification: with ids of fields, which avsc would drop if it wrote the header. */
export async function writeAvro({ schema, header, records }: AvroFile): Promise<Buffer> {
  const { header: headerType, block: blockType } = await containerTypes();
  const meta = Object.entries({ ...header, 'avro.schema': JSON.stringify(schema), 'avro.codec': 'deflate' });
  const sync = randomBytes(16);
  const start = { magic: Buffer.from('Obj\u0001'), meta: Object.fromEntries(meta.map(([name, text]) => [name, Buffer.from(text)])), sync };
  if (records.length === 0) return headerType.toBuffer(start);
  const type = await typeOf(schema as Schema);
  const data = deflateRawSync(Buffer.concat(records.map((record) => type.toBuffer(record))));
  return Buffer.concat([headerType.toBuffer(start), blockType.toBuffer({ count: records.length, data, sync })]);
}

function decoded<T>(type: Type, bytes: Buffer, at: number): { readonly value: T; readonly offset: number } {
  return type.decode(bytes, at);
}

async function containerTypes(): Promise<{ readonly header: Type; readonly block: Type }> {
  const { Type } = (await import('avsc')).default;
  const sync = { type: 'fixed', name: 'Sync', size: 16 } as const;
  const recordOf = (types: Readonly<Record<string, Schema>>) =>
    Type.forSchema({ type: 'record', name: 'Record', fields: Object.entries(types).map(([name, type]) => ({ name, type })) });
  return {
    header: recordOf({ magic: { type: 'fixed', name: 'Magic', size: 4 }, meta: { type: 'map', values: 'bytes' }, sync }),
    block: recordOf({ count: 'long', data: 'bytes', sync }),
  };
}

/** Returns a type whose longs are exact: beyond 2^53 they are bigints. */
async function typeOf(schema: Schema): Promise<Type> {
  const { Type, types } = (await import('avsc')).default;
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
    compare: (a: number | bigint, b: number | bigint) => Number(a) - Number(b),
    fromJSON: BigInt,
    toJSON: Number,
  });
  return Type.forSchema(schema, { registry: { long } });
}
