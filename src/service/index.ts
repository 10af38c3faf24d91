export { accountsFromEnv, readAccounts, type Account } from './accounts.js';
export {
  defaultLimit,
  failure,
  maxLimit,
  type Answer,
  type Answerer,
  type RawAnswer,
  type RequestFacts,
  type Responder,
  type RowsAnswer,
} from './answer.js';
export type { RequestEntry, ServiceOptions } from './app.js';
export { openDirectory } from './directory/index.js';
export { generate, type GenerateOptions } from './generate/index.js';
export { type DataSource, type Table } from './source.js';
export { startService, type RunningService, type StartOptions } from './start.js';
