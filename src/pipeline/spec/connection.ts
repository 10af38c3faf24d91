import { keyProblem, wrongOption, type Credentials } from '../../http/index.js';
import type { ConnectOptions } from '../../source/index.js';
import type { Environment } from './reference-source.js';
import type { Problem } from './references.js';
import type { ServiceSpec } from './spec.js';

/**
 * The connection that the environment describes: `LEADSTREAM_BASE_URL`, and `LEADSTREAM_REST_API_KEY` or
 * `LEADSTREAM_AUTHORIZED_UID` with `LEADSTREAM_AUTHORIZED_REST_API_KEY`. An empty variable counts as not set.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` when it names two accounts.
 */
export function connectionFromEnvironment(
  env: Environment,
): { readonly baseUrl: string; readonly auth: Credentials } | { readonly missing: string } {
  const baseUrl = env.LEADSTREAM_BASE_URL;
  if (!baseUrl) return { missing: 'LEADSTREAM_BASE_URL' };
  const conflict = conflictIn(env);
  if (conflict !== undefined) throw wrongOption(conflict);
  if (env.LEADSTREAM_REST_API_KEY) return { baseUrl, auth: { rest_api_key: env.LEADSTREAM_REST_API_KEY } };
  const { LEADSTREAM_AUTHORIZED_UID: uid, LEADSTREAM_AUTHORIZED_REST_API_KEY: key } = env;
  if (uid && key) return { baseUrl, auth: { authorized_uid: uid, authorized_rest_api_key: key } };
  return { missing: 'LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY' };
}

/** What speaks against an environment that names two accounts, of which one would be dropped without a word. */
function conflictIn(env: Environment): string | undefined {
  const other = (['LEADSTREAM_AUTHORIZED_UID', 'LEADSTREAM_AUTHORIZED_REST_API_KEY'] as const).find((name) => env[name]);
  if (!env.LEADSTREAM_REST_API_KEY || other === undefined) return undefined;
  return `LEADSTREAM_REST_API_KEY does not go with ${other}: unset the one or the other`;
}

/** The connection that a pipeline file describes, or without a service block the environment. */
export function connectionOf(service: ServiceSpec | undefined, env: Environment, problem: Problem): ConnectOptions | undefined {
  if (!service) {
    const conflict = conflictIn(env);
    if (conflict !== undefined) {
      problem([], `without a service block the environment names the account, and ${conflict}`);
      return undefined;
    }
    const found = connectionFromEnvironment(env);
    if ('baseUrl' in found) {
      const wrong = keyProblem(found.auth);
      if (wrong) problem([], `the ${wrong.field.join('.')} of the environment ${wrong.message}`);
      return found;
    }
    problem([], `without a service block the environment must set ${found.missing}`);
    return undefined;
  }
  const { retry } = service;
  const wrong = keyProblem(service.auth);
  if (wrong) problem(['service', 'auth', ...wrong.field], `the key ${wrong.message}`);
  return {
    baseUrl: service.base_url,
    auth: service.auth,
    ...defined({
      limit: service.limit,
      concurrency: service.concurrency,
      window: service.window,
      firstPage: service.first_page,
      maxPages: service.max_pages,
      endWaitMs: service.end_wait,
      strict: service.strict,
      ratePerSecond: service.rate_limit,
      threads: service.threads,
      timeoutMs: service.timeout,
      maxBodyBytes: service.max_page_bytes,
      retry: retry && defined({ attempts: retry.attempts, baseMs: retry.base, capMs: retry.cap }),
    }),
  };
}

/** The same without keys that have no value, so that defaults apply. */
function defined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
