export { type Account, accountsFromEnv, readAccounts } from './accounts.js';
export type { Answer, Answerer, DataSource, RequestFacts, Responder, ServedTable } from './answer.js';
export { openDirectory } from './directory.js';
export { type FaultSpec, isFault } from './faults.js';
export { generate, type GenerateOptions } from './generate/index.js';
export { type RequestEntry, type RunningService, type StartOptions, startService } from './start.js';
