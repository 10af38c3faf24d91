/**
 * leadstream: paged collections as typed, cancellable, bounded streams, joined and written as CSV, Parquet or text.
 *
 * @packageDocumentation
 */

// Reading a service
export {
  connect,
  defineCollection,
  type CollectionDeclaration,
  type CollectionOf,
  type ConnectOptions,
  type FieldDeclaration,
  type ReadOptions,
  type Service,
  type Consistency,
  type ConsistencyMode,
  type ConsistencyOutcome,
} from './source/index.js';

export type { Credentials, RetryPolicy } from './http/index.js';
export {
  collectionNames,
  collections,
  columnsOf,
  type AreaCode,
  type Bridge,
  type Collection,
  type CollectionName,
  type EndForm,
  type Lead,
  type Link,
  type Paging,
  type RowOf,
  type Rows,
  type TypedRowOf,
  type User,
} from './collections/index.js';
export {
  type Column,
  type DeclaredType,
  type Row,
  type Value,
  createRedactor,
  type Redactor,
  catalogue,
  type CodeOf,
  type ErrorCode,
  type GeneralCode,
  GateError,
  LeadstreamError,
  SinkError,
  SourceError,
  SpecError,
  StepError,
  type Warning,
  type FailureKind,
  type Violation,
  type SpecIssue,
} from './core/index.js';

// Watching
export {
  watch,
  type EventError,
  type MomentEvent,
  type MomentName,
  type Moments,
  type OperationEvent,
  type OperationName,
  type Operations,
  type Watcher,
  type Watchers,
} from './events/index.js';

// Streams of pages
export {
  createStallDetector,
  deliver,
  filterRows,
  liftRows,
  mapAsync,
  mapRows,
  pagedSource,
  rows,
  standalone,
  type Fault,
  type Lease,
  type OnError,
  type Page,
  type PagedSourceOptions,
  type StallDetector,
  type Step,
  type StepContext,
  type Tally,
} from './flow/index.js';

// Steps
export {
  aggregate,
  cast,
  dedupe,
  derive,
  explode,
  filter,
  join,
  limit,
  mask,
  personalMasks,
  rename,
  sample,
  select,
  sort,
  type Aggregated,
  type AggregateOptions,
  type Aggregation,
  type Casted,
  type CastOptions,
  type DedupeOptions,
  type Derivation,
  type ExplodeOptions,
  type GroupBy,
  type Joined,
  type JoinOptions,
  type Mask,
  type MaskOptions,
  type Renamed,
  type SampleOptions,
  type SortKey,
  type SortOptions,
} from './steps/index.js';

// Sinks
export {
  ClosedPipeError,
  csv,
  ndjson,
  parquet,
  stdout,
  type CsvOptions,
  type NdjsonOptions,
  type ParquetOptions,
  type PreparedOutput,
  type SinkContext,
  type SinkWriter,
  type StdoutOptions,
} from './sinks/index.js';
export {
  publishedManifest,
  readManifest,
  tableRuns,
  verifyTable,
  type Manifest,
  type RunFacts,
  type TableRun,
  type Verification,
  type VerifyOptions,
  type Evidence,
  type UndeclaredField,
} from './lake/index.js';
export { readGroups } from './parquet/index.js';

// Pipelines
export {
  connectionFromEnvironment,
  recoverRuns,
  writeTo,
  loadPipeline,
  loadPipelines,
  parsePipeline,
  parsePipelines,
  pipelineReference,
  pipelineSchema,
  rollbackTable,
  runPipeline,
  summaryOf,
  writesOver,
  type RowCounts,
  type Environment,
  type Expect,
  type FindingsReport,
  type Written,
  type WriteOptions,
  type LoadOptions,
  type Pipeline,
  type RollbackOptions,
  type RunOptions,
  type RunReport,
  type SinkReport,
} from './pipeline/index.js';

// The service itself, for tests and demonstrations
export {
  accountsFromEnv,
  generate,
  openDirectory,
  readAccounts,
  startService,
  type Account,
  type Change,
  type DataSource,
  type Drift,
  type DriftEvent,
  type DriftOptions,
  type FaultSpec,
  type GenerateOptions,
  type Quirks,
  type RequestEntry,
  type Responder,
  type RunningService,
  type StartOptions,
} from './service/index.js';
