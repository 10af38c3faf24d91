export { nextLinkIn } from './link-header.js';
export { accountOf, type Credentials, headerNameProblem, headersOf, keyProblem, queryOf, secretsOf } from './credentials.js';
export { checkOptions, clientChecks, wrongOption } from './options.js';
export { openTransport, type OpenedTransport } from './open.js';
export { proxyFor, proxyIn, proxySecrets } from './proxy.js';
export { RateLimiters } from './pacer.js';
export { createRequests, discreet, type RequestDescription } from './requests.js';
export type { RetryPolicy } from './retry.js';
export type { Answer, Target, Transport, TransportOptions } from './transport.js';
