import type { z } from 'zod';
import { standaloneSink } from '../context.js';
import { checked } from '../options.js';
import { openAlone } from '../lone-writer.js';
import { outputAt, outputIn } from '../output-path.js';
import { defineSink, type SinkContext, type SinkWriter } from '../sink.js';
import { checkNames, config, memoryOf } from './config.js';
import { loadEngine } from '../../parquet/index.js';
import { runDateColumn, runDateTemplate, Table } from '../../lake/index.js';
import { openRun } from './writer.js';

/** The options of `parquet`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type ParquetOptions = z.input<ReturnType<typeof config>>;

/**
 * Writes rows to a table of Parquet files. `lake/leads` becomes a link to `lake/.leads.runs/<run>/`; readers
 * see the earlier run until the link is replaced, in one step.
 *
 * Flags become BOOLEAN, whole numbers INT64, decimals DOUBLE, instants TIMESTAMP (microseconds, UTC), days DATE, texts UTF8; every column may be null.
 *
 * @returns A writer that holds two row groups of at most `row_group_rows` rows: one being collected, one being encoded. With
 * `sort_by: { columns, scope: 'table' }` it also holds rows up to its `memory`, beyond which they are kept in a file until `prepare`.
 * @throws {SinkError} `E_SINK_CONFIG` for invalid options, and while another sink of the program is open at the same path; `E_SINK_PATH` if nothing can be
 * written there; `E_SINK_FOREIGN` if something that leadstream did not create is there.
 *
 * @example
 * const out = await parquet({ path: 'lake/leads' });
 * // { age: '42', is_valid: 'yes' }  ->  age: BIGINT 42, is_valid: BOOLEAN true
 */
export async function parquet(options: ParquetOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  const given = checked('parquet', config, options);
  const alone = standaloneSink('parquet', context);
  return openAlone(alone, outputIn(given.path, alone), () => parquetSink.open(given, alone));
}

export const parquetSink = defineSink({
  name: 'parquet',
  summary: 'Writes a table of typed Parquet files, and replaces the earlier one atomically.',
  config,
  examples: [
    { path: 'lake/leads' },
    { path: 'lake/leads', engine: 'parquetjs-lite', compression: 'gzip' },
    { path: 'lake/leads', mode: 'replace_partitions', partition_by: ['yearmonthday'], sort_by: ['timestamp desc'] },
    { path: 'lake/all_leads', mode: 'append', keep: 3, permissions: '0640' },
    { path: 'lake/leads', sort_by: { columns: ['timestamp desc', 'lead_id'], scope: 'table', memory: '512MB' } },
  ],
  check: checkNames,
  adds: ({ mode }) => mode === 'append',
  holds: memoryOf,
  folders: ({ partition_by: by }) => by.map((name) => (name === runDateTemplate ? runDateColumn : name)),
  output: ({ path }, place) => outputAt(path, place),
  async open(options, context) {
    const engine = await loadEngine(options.engine, options.threads);
    return openRun(new Table(outputIn(options.path, context)), engine, options, context);
  },
});
