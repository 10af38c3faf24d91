import { SourceError, createRedactor } from '../core/index.js';
import { watchersProblem } from '../events/index.js';
import {
  addressProblem,
  anyObject,
  bounds,
  callable,
  check,
  faultsIn,
  given,
  judged,
  number,
  numberOrInfinity,
  object,
  texts,
  type Check,
  type Checks,
} from '../options/index.js';
import { agentsCheck } from './agent.js';
import { authoritiesProblem } from './authorities.js';
import { credentialsProblem } from './credentials-problem.js';
import { proxyProblem } from './proxy.js';

/** Checks the options of a client that are given in code. */
export const clientChecks: Checks = {
  baseUrl: judged(addressProblem),
  auth: judged(credentialsProblem),
  limit: number(bounds.limit),
  concurrency: number(bounds.concurrency),
  ratePerSecond: numberOrInfinity(bounds.ratePerSecond),
  timeoutMs: number(bounds.timeoutMs),
  retry: object({ attempts: number(bounds.attempts), baseMs: number(bounds.delayMs), capMs: number(bounds.delayMs) }),
  maxBodyBytes: number(bounds.maxBodyBytes),
  threads: number(bounds.threads),
  secrets: texts(),
  watch: judged(watchersProblem),
  proxy: judged(proxyProblem),
  ca: judged(authoritiesProblem),
  agent: agentsCheck,
  random: callable,
  scheduler: check('a scheduler of RxJS', isScheduler),
};

/**
 * Checks options that are given in code. No message shows an address or a credential.
 *
 * @param are What they are, and what they look like, for messages.
 * @throws {SourceError} `E_SOURCE_CONFIG` with every problem.
 */
export function checkOptions(options: unknown, wanted: Check, are = 'the options of a connection, like { baseUrl, auth },'): void {
  if (anyObject.faults(options, '').length > 0)
    throw wrongOption(`${are} must be an object, not ${typeof options === 'string' ? 'a text' : given(options)}`);
  const problems = faultsIn(wanted, options, ['baseUrl', 'auth', 'secrets', 'proxy', 'ca']);
  if (problems.length === 0) return;
  const redact = createRedactor(credentialsOf(options));
  throw wrongOption(problems.map(redact).join('; '));
}

/** Returns the error for an option that cannot be right. */
export function wrongOption(message: string): SourceError {
  return new SourceError('E_SOURCE_CONFIG', 'permanent', message);
}

function credentialsOf(options: unknown): readonly string[] {
  const auth: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'auth') : undefined;
  if (typeof auth !== 'object' || auth === null) return typeof auth === 'string' ? [auth] : [];
  return Object.values(auth).flatMap((value: unknown) => (typeof value === 'string' ? [value] : textsIn(value)));
}

function isScheduler(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'schedule' in value && 'now' in value;
}

function textsIn(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.values(value).filter((text) => typeof text === 'string') : [];
}
