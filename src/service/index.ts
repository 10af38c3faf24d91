export { accountsFromEnv, readAccounts, type Account } from './accounts.js';
export {
  failure,
  json,
  type Answer,
  type Answerer,
  type RawAnswer,
  type RequestFacts,
  type Responder,
  type RowsAnswer,
  type WireAnswer,
} from './answer.js';
export { openDirectory } from './directory/index.js';
export type { Change, Drift, DriftEvent, DriftOptions } from './drift/index.js';
export { faultKinds, type FaultSpec } from './faults/index.js';
export { generate, type GenerateOptions } from './generate/index.js';
export { quirkNames, type Quirks } from './quirks/index.js';
export type { RequestEntry } from './request-log.js';
export type { ServiceOptions } from './service.js';
export { type DataSource, type Table } from './source.js';
export { startService, type RunningService, type StartOptions } from './start.js';
