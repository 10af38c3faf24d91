/**
 * leadstream: paged collections as typed, cancellable, bounded streams, joined and written as CSV, Parquet or text.
 *
 * @packageDocumentation
 */

// Reading a service
export {
  type CollectionStream,
  connect,
  defineCollection,
  type CollectionDeclaration,
  type CollectionOf,
  type ConnectOptions,
  extendCollection,
  type ExtendedCollection,
  type FieldDeclaration,
  type FindOptions,
  type ReadOptions,
  type Service,
} from './source/index.js';

export type { Credentials, RetryPolicy } from './http/index.js';
// The collections, their names, and the types of their rows
export * from './collections/registry.js';
export {
  columnsOf,
  typesOf,
  type Collection,
  type EndForm,
  type Field,
  type Paging,
  type RowOf,
  type SecretsOf,
  type TypedRowOf,
  type TypesOf,
} from './collections/index.js';
export {
  type Column,
  type OutputColumn,
  type Consistency,
  type ConsistencyMode,
  type ConsistencyOutcome,
  type DeclaredType,
  type OnDuplicateKey,
  type Row,
  type Sensitivity,
  type Value,
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
  type CacheOptions,
  deliver,
  fromPages,
  mapAsync,
  mapRows,
  type Fault,
  type MadeColumns,
  type MadeOptions,
  type Lease,
  type OnError,
  type Page,
  type RowFormat,
  type RowStream,
  type Side,
  type Step,
  type StepContext,
  type CountedStep,
  type Tally,
} from './flow/index.js';

// Steps, and what expressions of pipeline files look up
export {
  aggregate,
  cast,
  dedupe,
  defineStep,
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
  sql,
  zipCity,
  zipState,
  type AddedColumns,
  type Aggregated,
  type AggregateOptions,
  type Aggregation,
  type Casted,
  type CastOptions,
  type CustomStep,
  type CustomStepContext,
  type DedupeOptions,
  type Derivation,
  type ExplodeOptions,
  type GroupBy,
  type Joined,
  type JoinOptions,
  type Mask,
  type Masked,
  type MaskOptions,
  type Renamed,
  type SampleOptions,
  type SortKey,
  type SortOptions,
  type SqlOptions,
  type StepDeclaration,
  type Stepped,
  type WithDerived,
} from './steps/index.js';

export type { ExtensionDeclaration, StandardSchema } from './options/index.js';

// Sinks
export {
  ClosedPipeError,
  csv,
  defineSink,
  ndjson,
  parquet,
  postgres,
  stdout,
  type CsvOptions,
  type CustomSink,
  type CustomSinkContext,
  type CustomWriter,
  type NdjsonOptions,
  type ParquetOptions,
  type PostgresOptions,
  type PreparedOutput,
  type SinkContext,
  type SinkDeclaration,
  type SinkWriter,
  type StdoutOptions,
  type ToCommit,
  type WrittenRow,
} from './sinks/index.js';
export { type ObjectStores, Stores, type StoreSettings } from './store/index.js';

// Writing, and connections from the environment: imported from their files, since the folder's index loads everything that pipeline files need
export type { RowCounts } from './core/index.js';
export { writeTo, type Written, type WriteOptions } from './run/write-to.js';
export { connectionFromEnvironment } from './plan/connection.js';
export type { Environment } from './plan/references.js';
