import { csvSink } from './csv/index.js';
import { ndjsonSink } from './ndjson/index.js';
import { parquetSink } from './parquet/index.js';
import type { SinkDefinition } from './sink.js';
import { stdoutSink } from './stdout/index.js';

/** All sinks that a pipeline file can name. */
export const sinks = { csv: csvSink, parquet: parquetSink, ndjson: ndjsonSink, stdout: stdoutSink } as const satisfies Readonly<
  Record<string, SinkDefinition>
>;

export type SinkName = keyof typeof sinks;
