import { resolve } from 'node:path';
import { z } from 'zod';
import { standaloneSink } from '../context.js';
import { checkColumns, checked, columns, naming, onError, permissions, types } from '../options.js';
import { defineSink, type SinkContext, type SinkWriter } from '../sink.js';
import { loadEngine } from './encoder.js';
import { Table } from './table.js';
import { openRun } from './writer.js';

const config = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'Table to write: a link to the folder of the newest run, which holds the Parquet files. Relative paths resolve against the working directory.',
    ),
  engine: z
    .enum(['hyparquet', 'parquetjs-lite'])
    .default('hyparquet')
    .describe(
      'Library that encodes: hyparquet (fast, small files, V2 pages), or parquetjs-lite for old readers (V1 pages, a fifth of the speed; whole numbers beyond 2^53 do not cast). Default hyparquet.',
    ),
  compression: z.enum(['snappy', 'gzip', 'none']).default('snappy').describe('Codec of the data pages (default snappy).'),
  row_group_rows: z.int().min(1).max(1_000_000).default(10_000).describe('Rows per row group; memory grows with it (default 10000).'),
  file_max_rows: z.int().min(1).default(5_000_000).describe('Rows after which the next file begins (default 5000000).'),
  naming: naming('snake_case'),
  types: types('typed'),
  columns,
  permissions,
  on_error: onError,
});

export type ParquetOptions = z.input<typeof config>;

/**
 * Writes rows to a table of Parquet files. `lake/leads` becomes a link to `lake/.leads.runs/<run>/`; readers see the
 * earlier run until the link is replaced, in one step.
 *
 * Flags become BOOLEAN, whole numbers INT64, decimals DOUBLE, instants TIMESTAMP (microseconds, UTC), days DATE, texts
 * UTF8; every column may be null. Memory is one row group.
 *
 * @returns A writer that holds one row group of at most `row_group_rows` rows.
 * @throws {SinkError} `E_SINK_PATH` when nothing can be written there, `E_SINK_FOREIGN` when something stands there
 * that leadstream did not make.
 *
 * @example
 * const out = await parquet({ path: 'lake/leads' });
 * // { age: '42', is_valid: 'yes' }  ->  age: BIGINT 42, is_valid: BOOLEAN true
 */
export async function parquet(options: ParquetOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return parquetSink.open(checked('parquet', config, options), standaloneSink('parquet', context));
}

export const parquetSink = defineSink({
  name: 'parquet',
  summary: 'Writes a table of typed Parquet files and replaces the earlier run in one step.',
  config,
  examples: [{ path: 'lake/leads' }, { path: 'lake/leads', engine: 'parquetjs-lite', compression: 'gzip' }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  output: ({ path }, baseDir) => resolve(baseDir, path),
  async open(options, context) {
    const table = new Table(resolve(context.baseDir, options.path), context.runId);
    const { compression } = options;
    const encoding = { compression, level: 3, bloomFilters: [], columnIndex: false, sortedBy: [], metadata: {} };
    return openRun(table, await loadEngine(options.engine), { ...options, encoding }, context);
  },
});
