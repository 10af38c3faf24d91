import { daysOf } from '../../vector/index.js';
import { Writable } from 'node:stream';
import parquet, { type FieldDefinition } from 'parquetjs-lite';
import { itemAt, SinkError, type DeclaredType, type Value, type OutputColumn } from '../../core/index.js';
import { type ValueBatch, RowValues } from '../row-values.js';
import { codecs, metadataOf, storages, type ByteTarget, type Compression, type ParquetEngine } from '../engine.js';

/**
 * parquetjs-lite: V1 data pages that every reader supports, no dictionaries, no statistics (its own mislead readers). It rounds whole
 * numbers beyond 2^53, which are refused here, and turns `-0` into 0.
 */
export const parquetjsLiteEngine: ParquetEngine<ValueBatch> = {
  rowGroup: (columns, plan) => new RowValues(columns, plan, (rows) => rows),

  refuses: ({ type }) => (type === 'integer' ? beyondDoubles : undefined),

  async open(target, columns, encoding) {
    const stream = new QuietStream(target);
    const writer = await stream.guard(() => {
      const schema = new parquet.ParquetSchema(schemaOf(columns, encoding.compression));
      return parquet.ParquetWriter.openStream(schema, stream, { useDataPageV2: false, pageIndex: false });
    });
    for (const [key, value] of metadataOf(columns, encoding)) writer.setMetadata(key, value);
    return {
      async writeGroup({ columns: values, rows }) {
        writer.setRowGroupSize(rows);
        await stream.guard(async () => {
          for (let row = 0; row < rows; row += 1) {
            const record: Record<string, unknown> = {};
            for (const [index, { name, type }] of columns.entries()) record[name] = primitive(itemAt(itemAt(values, index), row), type);
            await writer.appendRow(record);
          }
        });
      },
      finish: () => stream.guard(() => writer.close()),
    };
  },
};

function beyondDoubles(value: Value): string | undefined {
  const safe = typeof value !== 'bigint' || Number.isSafeInteger(Number(value));
  return safe ? undefined : 'is beyond 2^53, which the engine parquetjs-lite cannot store';
}

/** Hides failures from the library, which would leave that of a header write unhandled; `guard` reports them to the caller. */
class QuietStream extends Writable {
  #failure: unknown;

  constructor(target: ByteTarget) {
    super({
      write: (bytes: Buffer, _encoding, done) => {
        target
          .append(bytes)
          .catch((thrown: unknown) => (this.#failure ??= thrown))
          .then(() => done(), done);
      },
    });
  }

  /** Runs a call of the library. It often throws a string with a value, which is not passed on. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      if (this.#failure === undefined) return result;
    } catch (thrown) {
      if (thrown instanceof SinkError) throw thrown;
      this.#failure ??= new SinkError('E_SINK_VALUE', 'the engine parquetjs-lite refused a value or a column');
    }
    throw this.#failure;
  }
}

/** Refuses names like `2024` and `__proto__`: the library takes an object, which would move the one to the front and lose the other. */
function schemaOf(columns: readonly OutputColumn[], compression: Compression): Record<string, FieldDefinition> {
  const fields = columns.map(({ name, type }): [string, FieldDefinition] => {
    if (name === '__proto__' || /^\d+$/.test(name))
      throw new SinkError('E_SINK_VALUE', `the engine parquetjs-lite cannot write a column named ${name}`);
    const { type: physical, converted_type: stored = physical } = storages[type];
    return [name, { type: stored, optional: true, compression: codecs[compression], statistics: false }];
  });
  return Object.fromEntries(fields);
}

/** Returns exact primitives: texts for numbers and days with a time of day would be stored as other values. */
function primitive(value: Value, type: DeclaredType): Exclude<Value, bigint> {
  if (typeof value === 'bigint') return Number(value);
  return type === 'date' && value instanceof Date ? new Date(daysOf(value) * 86_400_000) : value;
}
