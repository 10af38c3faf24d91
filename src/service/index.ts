export { type Account, accountsFromEnv } from './accounts.js';
export { isFault } from './answer.js';
export type { Answer, Answerer, DataSource, FaultSpec, RequestFacts, Responder, ServedTable } from './answer.js';
export { openDirectory, openRows } from './directory.js';
export { generate, type GenerateOptions } from './generate/index.js';
export { type RequestEntry, type RunningService, type StartOptions, startService } from './start.js';
