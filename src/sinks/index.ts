import { csvSink } from './csv/index.js';
import { ndjsonSink } from './ndjson/index.js';
import { parquetSink } from './parquet/index.js';
import type { SinkDefinition } from './sink.js';
import { stdoutSink } from './stdout/index.js';

export {
  customSinkOf,
  defineSink,
  type CustomSink,
  type CustomSinkContext,
  type CustomWriter,
  type SinkDeclaration,
  type ToCommit,
  type WrittenRow,
} from './custom.js';
export { csv, type CsvOptions } from './csv/index.js';
export { ndjson, type NdjsonOptions } from './ndjson/index.js';
export { outputAt, outputPath } from './options.js';
export { parquet, type ParquetOptions } from './parquet/index.js';
export type { PreparedOutput, SinkContext, SinkDefinition, SinkPlan, SinkWriter } from './sink.js';
export { stdout, type StdoutOptions } from './stdout/index.js';
export { ClosedPipeError } from './stdout/target.js';

/** All sinks that a pipeline file can name. */
export const sinks = { csv: csvSink, parquet: parquetSink, ndjson: ndjsonSink, stdout: stdoutSink } as const satisfies Readonly<
  Record<string, SinkDefinition>
>;
