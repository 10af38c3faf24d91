export { type Account, accountsFromEnv } from './accounts.js';
export {
  type Answer,
  type Answerer,
  type DataSource,
  type FaultSpec,
  isFault,
  type RequestFacts,
  type Responder,
  type ServedTable,
} from './answer.js';
export { openDirectory, openRows } from './directory.js';
export { generate, type GenerateOptions } from './generate/index.js';
export { type RequestEntry, type RunningService, type StartOptions, startService } from './start.js';
