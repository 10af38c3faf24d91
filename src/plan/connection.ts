import { defined, warnProcess, wrongOption } from '../core/index.js';
import { addressProblem } from '../options/index.js';
import { secretKeyOf, proxyIn, type Credentials } from '../http/index.js';
import type { ConnectOptions } from '../source/index.js';
import type { Path } from './document.js';
import type { IssueList } from './issues.js';
import type { Environment } from './references.js';
import type { ServiceSpec } from './spec.js';

/**
 * Returns the connection described by the environment: `LEADSTREAM_BASE_URL`, and `LEADSTREAM_REST_API_KEY` or `LEADSTREAM_AUTHORIZED_UID`
 * with `LEADSTREAM_AUTHORIZED_REST_API_KEY`, and a proxy from `HTTPS_PROXY` or `HTTP_PROXY`. An empty variable counts as not set.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` if it contains two accounts, an invalid address, or an invalid proxy.
 *
 * @example
 * const connection = connectionFromEnvironment(process.env);
 * if ('missing' in connection) throw new Error(`set ${connection.missing}`);
 * const service = connect({ ...connection, limit: 500 });
 */
export function connectionFromEnvironment(env: Environment): (Account & { readonly proxy: string | false }) | { readonly missing: string } {
  const account = accountIn(env);
  if ('missing' in account) return account;
  if ('problem' in account) throw wrongOption(account.problem);
  const { proxy, problem, warning } = proxyIn(account.baseUrl, env);
  if (problem !== undefined) throw wrongOption(problem);
  if (warning) warnProcess(warning);
  return { ...account, proxy: proxy ?? false };
}

/** No problem shows the address, as it may contain a key. */
function accountIn(env: Environment): Account | { readonly missing: string } | { readonly problem: string } {
  const { LEADSTREAM_BASE_URL: baseUrl, LEADSTREAM_REST_API_KEY: own, LEADSTREAM_AUTHORIZED_UID: uid } = env;
  const key = env.LEADSTREAM_AUTHORIZED_REST_API_KEY;
  if (!baseUrl) return { missing: 'LEADSTREAM_BASE_URL' };
  const other = uid ? 'LEADSTREAM_AUTHORIZED_UID' : 'LEADSTREAM_AUTHORIZED_REST_API_KEY';
  // One of two accounts would be ignored silently.
  if (own && (uid || key)) return { problem: `LEADSTREAM_REST_API_KEY and ${other} cannot be used together: unset one of them` };
  const address = addressProblem(baseUrl);
  if (address !== undefined) return { problem: `LEADSTREAM_BASE_URL ${address}` };
  if (own) return { baseUrl, auth: { rest_api_key: own } };
  if (uid && key) return { baseUrl, auth: { authorized_uid: uid, authorized_rest_api_key: key } };
  return { missing: 'LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY' };
}

/** Address and account both come from the file or both from the environment, whose account is never sent to an address of the file. */
export function connectionIn(service: ServiceSpec | undefined, env: Environment, issues: IssueList, at: Path): ConnectOptions | undefined {
  const isOfFile = service?.base_url !== undefined || service?.auth !== undefined;
  const reached = isOfFile ? accountOf(service, issues, at) : accountFrom(env, issues, at.join('.'));
  if (reached === undefined) return undefined;
  const { field, problem: flaw } = secretKeyOf(reached.auth);
  if (flaw !== undefined && isOfFile) issues.problem([...at, 'auth', field], `the key ${flaw}`);
  else if (flaw !== undefined) issues.referenceProblem([], `the ${field} in the environment ${flaw}`);
  const { proxy, problem, warning } = proxyIn(reached.baseUrl, env);
  if (problem !== undefined) issues.referenceProblem([], problem);
  if (warning) issues.warn([], warning);
  const { retry, ...settings }: Partial<ServiceSpec> = service ?? {};
  return {
    ...reached,
    proxy: proxy ?? false,
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
      maxPageBytes: settings.max_page_bytes,
      retry: retry && defined({ attempts: retry.attempts, baseMs: retry.base, capMs: retry.cap }),
    }),
  };
}

interface Account {
  readonly baseUrl: string;
  readonly auth: Credentials;
}

function accountOf({ base_url: baseUrl, auth }: ServiceSpec, { problem }: IssueList, at: Path): Account | undefined {
  if (baseUrl !== undefined && auth !== undefined) return { baseUrl, auth };
  const [given, missing] = baseUrl === undefined ? ['auth', 'base_url'] : ['base_url', 'auth'];
  problem(at, `'${missing}' is missing: ${given} needs it; leave out both to use those of the environment`, true);
  return undefined;
}

function accountFrom(env: Environment, issues: IssueList, service: string): Account | undefined {
  const without = `without ${service}.base_url and ${service}.auth, the environment`;
  const found = accountIn(env);
  if ('baseUrl' in found) return found;
  if ('missing' in found) issues.unsetProblem([], found.missing, `${without} must set ${found.missing}`);
  else issues.referenceProblem([], `${without} names the account, and ${found.problem}`);
  return undefined;
}
