export {
  createClient,
  defaultLimit,
  type ClientOptions,
  type CollectionReader,
  type ListAnswer,
  type ListRequest,
  type ServiceClient,
} from './client.js';
export { checkOptions, clientShape, wrongOption } from './options.js';
export { keyProblem, queryOf, secretsOf, type Credentials } from './credentials.js';
export { defaultFetchingThreads } from './fetching.js';
export { discoveredColumns, type Findings } from './decoder.js';
export type { RetryNotice, RetryPolicy } from './retry.js';
