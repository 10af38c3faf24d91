export * from './credentials.js';
export { proxyFor, proxyIn, proxyProblem, proxySecrets } from './proxy.js';
export { RateLimiters } from './pacer.js';
export { createRequests, discreet, exchange, loadTransport, openTransport, type RequestDescription, type RetryPolicy } from './requests.js';
export type { HttpAnswer, OwnAgents, Target, Transport, TransportOptions } from './transport.js';
