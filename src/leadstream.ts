/**
 * leadstream: paged collections as typed, cancellable, bounded streams, joined and written as CSV, Parquet or text.
 *
 * @packageDocumentation
 */

// Reading a service
export { connect, type CollectionStream, type ConnectOptions, type FindOptions, type ReadOptions, type Service } from './source/index.js';
export { defineCollection, type CollectionDeclaration, type CollectionOf, type FieldDeclaration } from './source/index.js';
export { extendCollection, type ExtendedCollection } from './source/index.js';

export type { Credentials, RetryPolicy } from './http/index.js';
// The collections, their names, and the types of their rows
export * from './collections/registry.js';
export { columnsOf, typesOf, type RowOf, type SecretsOf, type TypedRowOf, type TypesOf } from './collections/index.js';
export type { Collection, EndForm, Field, Paging } from './collections/index.js';
export type { Column, DeclaredType, OutputColumn, Row, Sensitivity, Value } from './core/index.js';
export type { Consistency, ConsistencyMode, ConsistencyOutcome, OnDuplicateKey } from './core/index.js';
export { GateError, LeadstreamError, SinkError, SourceError, SpecError, StepError } from './core/index.js';
export type { CodeOf, ErrorCode, FailureKind, GeneralCode, SpecIssue, Violation, Warning } from './core/index.js';

// Watching
export { watch, type EventError, type Watcher, type Watchers } from './events/index.js';
export type { MomentEvent, MomentName, Moments, OperationEvent, OperationName, Operations } from './events/index.js';

// Streams of pages
export { deliver, fromPages, type CacheOptions, type Lease, type Page, type RowFormat, type RowStream, type Side } from './flow/index.js';
export { mapAsync, mapRows, type MadeColumns, type MadeOptions } from './flow/index.js';
export type { CountedStep, Fault, OnError, Step, StepContext, Tally } from './flow/index.js';

// Steps, and what expressions of pipeline files look up
export { aggregate, type Aggregated, type AggregateOptions, type Aggregation, type GroupBy } from './steps/index.js';
export { cast, type Casted, type CastOptions } from './steps/index.js';
export { dedupe, type DedupeOptions } from './steps/index.js';
export { defineStep, type CustomStep } from './steps/index.js';
export type { AddedColumns, CustomStepContext, StepDeclaration, Stepped } from './steps/index.js';
export { derive, type Derivation, type WithDerived } from './steps/index.js';
export { explode, type ExplodeOptions } from './steps/index.js';
export { filter, limit, select, zipCity, zipState } from './steps/index.js';
export { join, type Joined, type JoinOptions } from './steps/index.js';
export { mask, personalMasks, type Mask, type Masked, type MaskOptions } from './steps/index.js';
export { rename, type Renamed } from './steps/index.js';
export { sample, type SampleOptions } from './steps/index.js';
export { sort, type SortKey, type SortOptions } from './steps/index.js';
export { sql, type SqlOptions } from './steps/index.js';

export type { ExtensionDeclaration, StandardSchema } from './options/index.js';

// Sinks
export { csv, type CsvOptions, ndjson, type NdjsonOptions, parquet, type ParquetOptions } from './sinks/index.js';
export { postgres, type PostgresOptions } from './sinks/index.js';
export { ClosedPipeError, stdout, type StdoutOptions } from './sinks/index.js';
export { defineSink, type CustomSink, type CustomSinkContext, type CustomWriter, type SinkDeclaration } from './sinks/index.js';
export type { PreparedOutput, SinkContext, SinkWriter, ToCommit, WrittenRow } from './sinks/index.js';
export { type ObjectStores, Stores, type StoreSettings } from './store/index.js';

// Writing, and connections from the environment: imported from their files, since the folder's index loads everything that pipeline files need
export type { RowCounts } from './core/index.js';
export { writeTo, type Written, type WriteOptions } from './run/write-to.js';
export { connectionFromEnvironment } from './plan/connection.js';
export type { Environment } from './plan/references.js';
