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
export { outputAt, outputPath } from './output-path.js';
export { parquet, type ParquetOptions } from './parquet/index.js';
export { sinks } from './registry.js';
export type { PreparedOutput, SinkContext, SinkDefinition, SinkPlan, SinkWriter } from './sink.js';
export { stdout, type StdoutOptions } from './stdout/index.js';
export { ClosedPipeError } from './stdout/target.js';
