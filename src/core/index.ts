export { isAddressable } from './addressable.js';
export { amount, amountOf } from './amount.js';
export { byName } from './by-name.js';
export { catalogue, type CodeOf, type ErrorCode, type GeneralCode } from './catalogue.js';
export {
  type Column,
  isOnceOf,
  repeated,
  type Row,
  sensitivities,
  type Sensitivity,
  snakeCase,
  strictest,
  undeclaredColumn,
} from './column.js';
export { type Consistency, type ConsistencyMode, type ConsistencyOutcome, newConsistency } from './consistency.js';
export { defined } from './defined.js';
export { discreetMessage, saidDiscreetly } from './discreet.js';
export { environment, type EnvironmentName, secretVariables } from './environment.js';
export {
  type FailureKind,
  GateError,
  isRetryable,
  LeadstreamError,
  type Violation,
  SinkError,
  SourceError,
  type SourceFailure,
  SpecError,
  type SpecIssue,
  StepError,
  stoppedBy,
  SystemSignal,
  type Warning,
} from './errors.js';
export { type ExitCode, exitCodes } from './exit-codes.js';
export { failureOf } from './failure-of.js';
export { hashOfBytes } from './fnv.js';
export { instantTexts } from './instant-text.js';
export { type LogEvent, logEvents } from './log-events.js';
export { nearest } from './nearest.js';
export { type Naming, type OutputColumn, outputColumn, type OutputOptions, type Refuses } from './output-column.js';
export { onAbort } from './on-abort.js';
export { limitReached } from './limit-reached.js';
export { itemAt } from './item-at.js';
export { pointerPattern, segmentsOf } from './pointer.js';
export { jsonOf, printable, printableLines } from './printable.js';
export { createRedactor, minSecretLength, type Redactor } from './redact.js';
export { counted, origins, outcomes, type RowCounts, wordOf } from './row-counts.js';
export { newRunId } from './run-id.js';
export { schema, zod, type Zod } from './schema.js';
export { hintAt, meant, unknownName } from './suggestions.js';
export { withKeyOrigin } from './refused-key.js';
export { reasonOf, whatWasThrown } from './thrown.js';
export { warnProcess } from './warn-process.js';
export { type DeclaredType, declaredTypes, expectations, parserOf, textOf, type Value, type ValueOf } from './types.js';
export { nodeRequire } from './node-require.js';
export { packageFile, version } from './version.js';
export { type WarningCode, warningCatalogue } from './warnings.js';
export { isWord } from './is-word.js';
