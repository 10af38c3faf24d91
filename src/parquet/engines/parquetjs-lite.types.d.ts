/** The part of parquetjs-lite 0.8.7 used here; the package has no types. */
declare module 'parquetjs-lite' {
  import type { Writable } from 'node:stream';

  export interface FieldDefinition {
    readonly type: string;
    readonly optional: boolean;
    /** It has UNCOMPRESSED, GZIP and SNAPPY. */
    readonly compression: string;
    readonly statistics: false;
  }

  export interface Writer {
    /** Number of rows after which `appendRow` writes a row group. */
    setRowGroupSize(rows: number): void;
    setMetadata(key: string, value: string): void;
    appendRow(row: Readonly<Record<string, unknown>>): Promise<void>;
    close(): Promise<void>;
  }

  const parquet: {
    readonly ParquetSchema: new (fields: Readonly<Record<string, FieldDefinition>>) => object;
    readonly ParquetWriter: {
      openStream(
        schema: object,
        stream: Writable,
        options: { readonly useDataPageV2: boolean; readonly pageIndex: boolean },
      ): Promise<Writer>;
    };
  };
  export { parquet as default };
}
