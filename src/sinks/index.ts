import { csvSink } from './csv/index.js';
import { ndjsonSink } from './ndjson/index.js';
import { parquetSink } from './parquet/index.js';
import type { SinkDefinition } from './sink.js';
import { stdoutSink } from './stdout/index.js';

/** Every sink that a pipeline file can name. */
export const sinks = { csv: csvSink, parquet: parquetSink, ndjson: ndjsonSink, stdout: stdoutSink } as const satisfies Readonly<
  Record<string, SinkDefinition>
>;

export type SinkName = keyof typeof sinks;

export { csv, csvSink, type CsvOptions } from './csv/index.js';
export { ndjson, ndjsonSink, type NdjsonOptions } from './ndjson/index.js';
export { parquet, parquetSink, type ParquetOptions } from './parquet/index.js';
export { prepareRollback, publishedManifest, tableRuns, type Rollback, type TableRun } from './parquet/table/history.js';
export { readGroups } from './parquet/table/rows.js';
export { RunLog, type Evidence } from './run-log.js';
export { verifyTable, type Verification, type VerifyOptions } from './parquet/table/verify.js';
export { readManifest, type Manifest } from './parquet/table/manifest.js';
export { ClosedPipeError } from './stdout/target.js';
export { stdout, stdoutSink, type StdoutOptions } from './stdout/index.js';
export {
  defineSink,
  type OutputPlace,
  type RunFacts,
  type SinkContext,
  type Published,
  type SinkDefinition,
  type SinkPlan,
  type SinkWriter,
  type Staged,
  type UndeclaredField,
} from './sink.js';
export { outputAt, outputPath } from './output-path.js';
export { standaloneSink } from './context.js';
export { outputColumn, type Naming, type OutputColumn } from './output-column.js';
