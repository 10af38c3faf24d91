export { catalogue, type CodeOf, type ErrorCode, type ExitCode, exitCodes, type GeneralCode } from './catalogue.js';
export {
  type Column,
  isOnceOf,
  type Naming,
  type OutputColumn,
  outputColumn,
  type OutputOptions,
  type Refuses,
  repeated,
  type Row,
  sensitivities,
  type Sensitivity,
  strictest,
  undeclaredColumn,
} from './column.js';
export { type Consistency, type ConsistencyMode, type ConsistencyOutcome, newConsistency } from './consistency.js';
export { environment, secretVariables } from './environment.js';
export {
  discreetMessage,
  type FailureKind,
  GateError,
  isRetryable,
  LeadstreamError,
  saidDiscreetly,
  SinkError,
  SourceError,
  type SourceFailure,
  SpecError,
  type SpecIssue,
  StepError,
  stoppedBy,
  SystemSignal,
  type Violation,
  type Warning,
  warnProcess,
  withKeyOrigin,
} from './errors.js';
export { type LogEvent, logEvents } from './log-events.js';
export { didYouMean, nearest, unknownName } from './names.js';
export { byName, defined, itemAt } from './objects.js';
export { onAbort } from './on-abort.js';
export { createRedactor, minSecretLength, type Redactor } from './redact.js';
export { counted, origins, outcomes, type RowCounts, wordOf } from './row-counts.js';
export { schema, zod, type Zod } from './schema.js';
export { amount, amountOf, hashOfBytes, isAddressable, jsonOf, newRunId, printable } from './text.js';
export { failureOf, limitReached, reasonOf, whatWasThrown } from './thrown.js';
export { type DeclaredType, declaredTypes, expectations, instantTexts, parserOf, textOf, type Value, type ValueOf } from './types.js';
export { nodeRequire, packageFile, version } from './version.js';
export { type WarningCode, warningCatalogue } from './warnings.js';
