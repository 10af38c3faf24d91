import { createHash, createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { accountOf, type Credentials } from '../../http/index.js';
import type { Collection } from '../../collections/index.js';
import { readOwn, removeTemporaries, replaceFile } from '../../store/index.js';
import { firstPageOf } from '../paging.js';

/** The origin of spooled pages. Pages of one source are never used for another. */
export interface SpooledSource {
  /** Origin and path of the service; user info and query do not count. */
  readonly baseUrl: string;
  /** Credentials by parameter name. They are only used in a digest, keyed with the spool folder's key. */
  readonly account: Readonly<Record<string, string>>;
  readonly collection: Collection;
  /** Rows requested per page. */
  readonly limit: number;
  readonly firstPage: number;
}

/** The options of a service that distinguish sources. */
export interface SourceOptions {
  readonly baseUrl: string;
  readonly auth: Credentials;
  readonly firstPage?: number | undefined;
}

/** Returns the source of a collection at a service, read with pages of `limit` rows. */
export function sourceOf(collection: Collection, limit: number, options: SourceOptions): SpooledSource {
  const { baseUrl, auth } = options;
  return { baseUrl, account: accountOf(auth), collection, limit, firstPage: firstPageOf(collection, options) ?? 1 };
}

/** Names of the folders of sources: `<collection>-<32 hexadecimal digits>`. */
export const sourceName = /^[a-z]\w*-[0-9a-f]{32}$/;

/**
 * Returns the folder name of a source: its collection, and the head of a SHA-256 over everything that distinguishes sources.
 *
 * @param key Random and secret to the spool folder, so that credentials cannot be guessed from the name.
 */
export function nameOf({ limit, firstPage, ...list }: SpooledSource, key: Buffer): string {
  const { paging } = list.collection.served ?? {};
  return named(list, [limit, firstPage, ...(paging ? [JSON.stringify(paging)] : [])], key);
}

/** Returns the name of a list, however it is paged. */
export function countedName(list: Omit<SpooledSource, 'limit' | 'firstPage'>, key: Buffer): string {
  return named(list, [], key);
}

function named(
  { baseUrl, account, collection }: Omit<SpooledSource, 'limit' | 'firstPage'>,
  how: readonly (number | string)[],
  key: Buffer,
): string {
  const { origin, pathname } = new URL(baseUrl);
  const digest = createHmac('sha256', key)
    .update(JSON.stringify(Object.entries(account).sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest('hex');
  const { name, paths, served } = collection;
  // The collection declared under a name can be another list the next time.
  const own = served ? [...paths, served.rows, Object.entries(served.query)] : [];
  const parts = [origin, pathname.replace(/\/+$/, ''), name, ...how, ...own, digest];
  return `${name}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** Returns the key of a spool folder, creating it if missing. Without it earlier spools are no longer found. */
export async function accountKey(folder: string): Promise<Buffer> {
  const path = join(folder, keyName);
  await removeTemporaries(folder, (name) => name === keyName);
  const found = await knownKey(folder);
  if (found) return found;
  await replaceFile(path, `${randomBytes(keyBytes).toString('hex')}\n`, { mode: 0o600 });
  // Two first runs at the same time both use the key stored now. At worst one of them cannot be resumed.
  return (await readKey(path)) ?? randomBytes(keyBytes);
}

/** Returns the key of a spool folder, if it has one. */
export function knownKey(folder: string): Promise<Buffer | undefined> {
  return readKey(join(folder, keyName));
}

const keyName = 'account.key';
const keyBytes = 32;

async function readKey(path: string): Promise<Buffer | undefined> {
  const key = Buffer.from((await readOwn(path))?.trim() ?? '', 'hex');
  return key.length === keyBytes ? key : undefined;
}
