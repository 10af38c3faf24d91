import type { SchemaElement } from 'hyparquet';
import type { DeclaredType } from '../core/index.js';

export const compressions = ['zstd', 'snappy', 'gzip', 'none'] as const;
export type Compression = (typeof compressions)[number];

/** How Parquet stores a type. */
export interface Storage extends Pick<SchemaElement, 'converted_type' | 'logical_type'> {
  readonly type: NonNullable<SchemaElement['type']>;
}

export const storages: Readonly<Record<DeclaredType, Storage>> = {
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

/** The names of the codecs in Parquet. */
export const codecs = { zstd: 'ZSTD', snappy: 'SNAPPY', gzip: 'GZIP', none: 'UNCOMPRESSED' } as const;
