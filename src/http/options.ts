import { SourceError, createRedactor, isRecord } from '../core/index.js';
import { watchersProblem } from '../events/index.js';
import {
  addressProblem,
  anyObject,
  bounds,
  callable,
  check,
  judged,
  number,
  numberOrInfinity,
  object,
  texts,
  type Check,
  type Checks,
} from '../options/index.js';
import { credentialsProblem } from './credentials.js';
import { proxyProblem } from './proxy.js';

const agent = check('an agent of node:http or node:https', (value) => isRecord(value) && typeof value['addRequest'] === 'function');

const clientChecks: Checks = {
  baseUrl: judged(addressProblem),
  auth: judged(credentialsProblem),
  limit: number(bounds.limit),
  concurrency: number(bounds.concurrency),
  ratePerSecond: numberOrInfinity(bounds.ratePerSecond),
  timeoutMs: number(bounds.timeoutMs),
  retry: object({ attempts: number(bounds.attempts), baseMs: number(bounds.delayMs), capMs: number(bounds.delayMs) }),
  maxPageBytes: number(bounds.maxPageBytes),
  threads: number(bounds.threads),
  secrets: texts(),
  watch: judged(watchersProblem),
  proxy: judged((proxy) => (proxy === false ? undefined : proxyProblem(proxy))),
  ca: check('PEM certificates, as a text or a list of texts; for a file, pass its contents', isAuthorities),
  agent: object({ http: agent, https: agent }),
  random: callable,
};

/** Checks options that are given in code. @throws {SourceError} `E_SOURCE_CONFIG` with every problem, and no address or credential. */
export function checkOptions(options: unknown, wanted: Check, are = 'the options of a connection, like { baseUrl, auth },'): void {
  const problems = anyObject(options, are).length > 0 ? anyObject(options, are) : wanted(options, '');
  // A name that is no option could be a key.
  const redact = createRedactor(isRecord(options) ? textsIn(options['auth']) : []);
  if (problems.length > 0) throw wrongOption(problems.map(redact).join('; '));
}

export function wrongOption(message: string): SourceError {
  return new SourceError('E_SOURCE_CONFIG', 'permanent', message);
}

/** @param more Checks of further options. Default: others are ignored. */
export function checkClient(options: unknown, more?: Checks): void {
  checkOptions(options, object({ ...clientChecks, ...more }, ['baseUrl', 'auth'], more ? 'closed' : 'open'));
  const { agent: agents, baseUrl, threads, proxy } = isRecord(options) ? options : {};
  if (!isRecord(agents)) return;
  const protocol = new URL(String(baseUrl)).protocol.slice(0, -1);
  // Otherwise requests would take another way than the program wants.
  if (agents[protocol] === undefined) throw wrongOption(`agent.${protocol} is missing: the base URL uses ${protocol}`);
  if (threads === 1) throw wrongOption('threads cannot be combined with agent');
  if (typeof proxy === 'string') throw wrongOption('proxy cannot be combined with agent');
}

function isAuthorities(ca: unknown): boolean {
  return [ca].flat().every((text) => typeof text === 'string' && text.includes('-----BEGIN CERTIFICATE-----'));
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : [];
}
