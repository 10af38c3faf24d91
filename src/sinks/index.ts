import { csvSink } from './csv.js';
import { ndjsonSink } from './ndjson.js';
import { parquetSink } from './parquet.js';
import { postgresSink } from './postgres/index.js';
import type { SinkDefinition } from './sink.js';
import { stdoutSink } from './stdout.js';

export * from './custom.js';
export { standaloneSink } from './alone.js';
export { csv, type CsvOptions } from './csv.js';
export { ndjson, type NdjsonOptions } from './ndjson.js';
export { outputAt, outputPath } from './options.js';
export { parquet, type ParquetOptions } from './parquet.js';
export { postgres, type PostgresOptions } from './postgres/index.js';
export { nothingToCommit, type PreparedOutput, type SinkContext, type SinkDefinition, type SinkPlan, type SinkWriter } from './sink.js';
export { ClosedPipeError, stdout, type StdoutOptions } from './stdout.js';

export const sinks = {
  csv: csvSink,
  parquet: parquetSink,
  ndjson: ndjsonSink,
  postgres: postgresSink,
  stdout: stdoutSink,
} as const satisfies Readonly<Record<string, SinkDefinition>>;
