import type { z } from 'zod';
import { SourceError, createRedactor, schema } from '../core/index.js';
import { watchersProblem } from '../events/index.js';
import { callback, judgedBy, optionProblems, settings, unlimited } from '../options/index.js';
import { authoritiesProblem } from './authorities.js';
import { credentialsProblem } from './credentials.js';
import { proxyProblem } from './proxy.js';

/** The options of a client, as they may be given in code. */
export const clientShape = schema((z) => ({
  baseUrl: settings().baseUrl,
  auth: judgedBy(credentialsProblem),
  limit: settings().limit.optional(),
  concurrency: settings().concurrency.optional(),
  ratePerSecond: settings().ratePerSecond.or(unlimited()).optional(),
  timeoutMs: settings().timeoutMs.optional(),
  retry: z
    .strictObject({ attempts: settings().attempts.optional(), baseMs: settings().delayMs.optional(), capMs: settings().delayMs.optional() })
    .optional(),
  maxBodyBytes: settings().maxBodyBytes.optional(),
  threads: settings().threads.optional(),
  secrets: z.array(z.string()).readonly().optional(),
  watch: judgedBy(watchersProblem).optional(),
  random: callback().optional(),
  proxy: judgedBy((proxy) => (proxy === undefined ? undefined : proxyProblem(proxy))).optional(),
  ca: judgedBy((ca) => (ca === undefined ? undefined : authoritiesProblem(ca))).optional(),
  scheduler: z.custom((value) => isScheduler(value), 'must be a scheduler of RxJS').optional(),
}));

const unread = schema((z) => z.object(clientShape()));

/**
 * Checks options that were given in code; no message shows an address or a credential.
 *
 * @param taken Default: those of a client, and others are nobody's business.
 * @throws {SourceError} `E_SOURCE_CONFIG` with every problem.
 */
export function checkOptions(options: unknown, taken: () => z.ZodType = unread): void {
  const problems = optionProblems(taken(), options, ['baseUrl', 'auth', 'secrets', 'proxy', 'ca']);
  if (problems.length === 0) return;
  const redact = createRedactor(credentialsOf(options));
  throw wrongOption(problems.map(redact).join('; '));
}

/** An option that cannot be right. */
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
