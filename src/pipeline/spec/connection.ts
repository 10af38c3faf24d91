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
  const auth = accountIn(env);
  return auth ? { baseUrl, auth } : { missing: accountVariables };
}

const accountVariables = 'LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY';

function accountIn(env: Environment): Credentials | undefined {
  if (env.LEADSTREAM_REST_API_KEY) return { rest_api_key: env.LEADSTREAM_REST_API_KEY };
  const { LEADSTREAM_AUTHORIZED_UID: uid, LEADSTREAM_AUTHORIZED_REST_API_KEY: key } = env;
  return uid && key ? { authorized_uid: uid, authorized_rest_api_key: key } : undefined;
}

/** What speaks against an environment that names two accounts, of which one would be dropped without a word. */
function conflictIn(env: Environment): string | undefined {
  const other = (['LEADSTREAM_AUTHORIZED_UID', 'LEADSTREAM_AUTHORIZED_REST_API_KEY'] as const).find((name) => env[name]);
  if (!env.LEADSTREAM_REST_API_KEY || other === undefined) return undefined;
  return `LEADSTREAM_REST_API_KEY does not go with ${other}: unset the one or the other`;
}

/** The connection that a pipeline file describes; address and account that it does not name are those of the environment. */
export function connectionOf(service: ServiceSpec | undefined, env: Environment, problem: Problem): ConnectOptions | undefined {
  const baseUrl = addressOf(service, env, problem);
  const auth = authOf(service, env, problem);
  if (baseUrl === undefined || auth === undefined) return undefined;
  const { retry, ...settings } = service ?? {};
  return {
    baseUrl,
    auth,
    ...defined({
      limit: settings.limit,
      concurrency: settings.concurrency,
      window: settings.window,
      firstPage: settings.first_page,
      maxPages: settings.max_pages,
      endWaitMs: settings.end_wait,
      strict: settings.strict,
      ratePerSecond: settings.rate_limit,
      threads: settings.threads,
      timeoutMs: settings.timeout,
      maxBodyBytes: settings.max_page_bytes,
      retry: retry && defined({ attempts: retry.attempts, baseMs: retry.base, capMs: retry.cap }),
    }),
  };
}

function addressOf(service: ServiceSpec | undefined, env: Environment, problem: Problem): string | undefined {
  const found = service?.base_url ?? env.LEADSTREAM_BASE_URL;
  if (found) return found;
  const without = service ? 'service.base_url' : 'a service block';
  problem(service ? ['service'] : [], `without ${without} the environment must set LEADSTREAM_BASE_URL`);
  return undefined;
}

function authOf(service: ServiceSpec | undefined, env: Environment, problem: Problem): Credentials | undefined {
  const wrong = service?.auth && keyProblem(service.auth);
  if (wrong) problem(['service', 'auth', ...wrong.field], `the key ${wrong.message}`);
  if (service?.auth) return service.auth;
  const at = service ? ['service'] : [];
  const without = `without ${service ? 'service.auth' : 'a service block'} the environment`;
  const conflict = conflictIn(env);
  if (conflict !== undefined) problem(at, `${without} names the account, and ${conflict}`);
  const auth = accountIn(env);
  if (auth === undefined) problem(at, `${without} must set ${accountVariables}`);
  const wrongThere = auth && keyProblem(auth);
  if (wrongThere) problem(at, `the ${wrongThere.field.join('.')} of the environment ${wrongThere.message}`);
  return conflict === undefined ? auth : undefined;
}

/** The same without keys that have no value, so that defaults apply. */
function defined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
