import { createHash, timingSafeEqual } from 'node:crypto';
import { LeadstreamError } from '../core/index.js';

/**
 * An account that may read the service: `uid` and `key` are sent as a pair, `restApiKey` alone. Default for `restApiKey`: the MD5 of `key`
 * in lower-case hex (how the service builds its md5-encoded key is not documented).
 */
export type Account =
  | { readonly uid: string; readonly key: string; readonly restApiKey?: string | undefined }
  | { readonly restApiKey: string };

export const credentialNames: readonly string[] = ['authorized_uid', 'authorized_rest_api_key', 'rest_api_key'];

/** Compares in constant time. A request with either half of the pair is judged by the pair; `rest_api_key` counts only without it. */
export function authoriser(accounts: readonly Account[]): (query: URLSearchParams) => boolean {
  if (accounts.length === 0) throw new LeadstreamError('E_USAGE', 'the service needs at least one account that may read it');
  const pairs = accounts.flatMap((account) => ('uid' in account ? [digest(account.uid, account.key)] : []));
  const keys = accounts.map((account) => digest('key' in account ? (account.restApiKey ?? md5(account.key)) : account.restApiKey));
  return (query) => {
    const [uid = null, key = null, restApiKey = null] = credentialNames.map((name) => query.get(name));
    const isPair = uid !== null || key !== null;
    const offered = isPair ? digest(uid ?? '', key ?? '') : digest(restApiKey ?? '');
    return (isPair ? pairs : keys).filter((candidate) => timingSafeEqual(candidate, offered)).length > 0;
  };
}

/**
 * Returns the account in the environment, if any. An empty variable counts as not set.
 *
 * @throws {LeadstreamError} `E_USAGE` if only one half of the pair is set.
 *
 * @example
 * await startService({ source: generate(), accounts: accountsFromEnv(process.env) });
 */
export function accountsFromEnv(env: Readonly<Record<string, string | undefined>>): readonly Account[] {
  const uid = env['LEADSTREAM_AUTHORIZED_UID'] || undefined;
  const key = env['LEADSTREAM_AUTHORIZED_REST_API_KEY'] || undefined;
  const restApiKey = env['LEADSTREAM_REST_API_KEY'] || undefined;
  if (uid && key) return [{ uid, key, restApiKey }];
  if (uid || key) {
    throw new LeadstreamError('E_USAGE', 'set LEADSTREAM_AUTHORIZED_UID and LEADSTREAM_AUTHORIZED_REST_API_KEY together');
  }
  return restApiKey ? [{ restApiKey }] : [];
}

/** Digests have a fixed length, so comparing them does not reveal the length of a key. */
function digest(...parts: readonly string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}

function md5(value: string): string {
  return createHash('md5').update(value).digest('hex');
}
