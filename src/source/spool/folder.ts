import { readdir, rmdir, stat } from 'node:fs/promises';
import { join, resolve, basename } from 'node:path';
import { randomBytes, createHash, createHmac } from 'node:crypto';
import type { z } from 'zod';
import {
  errnoOf,
  temporaryEnding,
  removeFile,
  attempt,
  readOwn,
  replaceFile,
  isPrivate,
  unlessMissing,
  lockOwn,
  removeTemporaries,
} from '../../store/index.js';
import { logName, isLost } from './page-log.js';
import { SinkError, LeadstreamError, schema } from '../../core/index.js';
import { accountOf, type Credentials } from '../../http/index.js';
import type { Collection } from '../../collections/index.js';
import { firstPageOf } from '../paging.js';

/** Removes what killed runs left half-written in the folder of a source. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (isLeftover(name)) await removeFile(join(folder, name));
}

/** Removes the folder of a source with all files of leadstream; the folder stays if it contains anything else. */
export async function removeSource(folder: string): Promise<void> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw thrown;
  });
  // The marker goes last, so that the remains of an interrupted removal still have an age.
  for (const name of [...names.filter(isLeftover), logName, markerName]) await removeFile(join(folder, name));
  await rmdir(folder).catch(() => undefined);
}

function isLeftover(name: string): boolean {
  return name.startsWith(markerName) && name.endsWith(temporaryEnding);
}

/**
 * Runs an operation in the state folder; failures mention the option that moves it.
 *
 * @throws {SinkError} `code`: `E_SINK_PATH` while a spool is being opened, `E_SINK_WRITE` afterwards.
 */
export async function inState<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await attempt(code, what, work);
  } catch (failure) {
    if (!(failure instanceof SinkError)) throw failure;
    throw new SinkError(failure.code, `${failure.message}; choose another place with --state-dir`, { cause: failure });
  }
}

const marker = schema((z) =>
  z.object({
    /** When the first of the runs that share these pages started, ISO 8601. */
    startedAt: z.iso.datetime(),
    /** Age from which these pages are useless, in milliseconds. */
    maxAgeMs: z.number(),
  }),
);

/** The age of a source's pages, and its maximum. */
type Marker = z.output<ReturnType<typeof marker>>;

const markerName = 'started.json';

/** Reads the marker of a source's folder; `undefined` if it is missing or damaged, in which case the pages have no known age. */
export async function readMarker(folder: string): Promise<Marker | undefined> {
  const text = await readOwn(join(folder, markerName)).catch(unlessUseless);
  if (text === undefined) return undefined;
  try {
    return marker().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Rethrows any other failure: pages must not be discarded because no more files could be opened. */
function unlessUseless(thrown: unknown): undefined {
  if (isLost(thrown) || (thrown instanceof LeadstreamError && thrown.code === 'E_STATE_FOREIGN')) return undefined;
  throw thrown;
}

/** Writes the marker, before the first page, so that no page is older than it seems. */
export async function writeMarker(folder: string, { startedAt, maxAgeMs }: Marker): Promise<void> {
  await replaceFile(join(folder, markerName), `${JSON.stringify({ startedAt, maxAgeMs })}\n`, 0o600);
}

/** Returns whether pages may still be used. Pages dated in the future come from a wrong clock. */
export function isFresh(found: Marker | undefined, now: number, maxAgeMs = found?.maxAgeMs ?? 0): boolean {
  return found !== undefined && Math.abs(now - Date.parse(found.startedAt)) <= maxAgeMs;
}

/**
 * Returns when the usable spool of a source was started, ISO 8601; `undefined` if there are no usable pages. Nothing is locked or
 * requested, so another run can take the pages meanwhile.
 *
 * @param folder `<state-dir>/spool`, existing or not.
 * @param maxAgeMs Age from which pages are not used.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the folder was not created by leadstream for this user.
 */
export async function spooledSince(
  folder: string,
  source: SpooledSource,
  maxAgeMs: number,
  now: () => number = Date.now,
): Promise<string | undefined> {
  const spools = resolve(folder);
  return inState('E_SINK_PATH', `cannot look for spooled pages in ${spools}`, async () => {
    if (!(await isPrivate(spools))) return undefined;
    const key = await knownKey(spools);
    if (key === undefined) return undefined;
    const path = join(spools, nameOf(source, key));
    const marker = await readMarker(path);
    if (!isFresh(marker, now(), maxAgeMs)) return undefined;
    const log = await stat(join(path, logName)).catch(unlessMissing(undefined));
    return log !== undefined && log.size > 0 ? marker?.startedAt : undefined;
  });
}

/**
 * Removes spools that are too old to be used, so that raw pages do not remain when a pipeline is not run again. It touches only folders
 * with leadstream's names, and in them only files with leadstream's names; spools in use are left alone.
 *
 * @param folder `<state-dir>/spool`; may be missing.
 * @returns Names of the folders that were removed.
 * @throws {SinkError} `E_SINK_WRITE`.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the folder was not created by leadstream for this user.
 */
export async function sweepSpools(folder: string, now: () => number = Date.now): Promise<readonly string[]> {
  const spools = resolve(folder);
  return inState('E_SINK_WRITE', `cannot remove old spools in ${spools}`, async () => {
    if (!(await isPrivate(spools))) return [];
    const entries = await readdir(spools, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory() && sourceName.test(entry.name)).map(({ name }) => name);
    const removed: string[] = [];
    for (const name of names) if (await sweep(join(spools, name), now)) removed.push(name);
    return removed;
  });
}

/**
 * Removes one spool, because its pages were published. A spool in use is left to its run.
 *
 * @param folder `<state-dir>/spool`.
 * @param source Name of the source's folder in it, or a path that ends with it.
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function removeSpool(folder: string, source: string): Promise<void> {
  if (!sourceName.test(basename(source))) return;
  const path = join(resolve(folder), basename(source));
  await inState('E_SINK_WRITE', `cannot remove ${path}`, async () => {
    if (await isPrivate(path)) await removeIf(path, () => Promise.resolve(true));
  });
}

async function sweep(folder: string, now: () => number): Promise<boolean> {
  const isOld = async () => !isFresh(await readMarker(folder), now());
  // Checked twice: the second time under the lock, when no other run can have started using it.
  return (await isOld()) && removeIf(folder, isOld);
}

async function removeIf(folder: string, condition: () => Promise<boolean>): Promise<boolean> {
  const lock = await lockOwn(folder, { runId: `sweep-${randomBytes(4).toString('hex')}` }).catch(unlessLocked);
  if (lock === undefined) return false;
  try {
    if (!(await condition())) return false;
    await removeSource(folder);
    return true;
  } finally {
    await lock.release();
  }
}

function unlessLocked(failure: unknown): undefined {
  if (failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') return undefined;
  throw failure;
}

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
const sourceName = /^[a-z]\w*-[0-9a-f]{32}$/;

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
  await replaceFile(path, `${randomBytes(keyBytes).toString('hex')}\n`, 0o600);
  // Two first runs at the same time both use the key stored now. At worst one of them cannot be resumed.
  return (await readKey(path)) ?? randomBytes(keyBytes);
}

/** Returns the key of a spool folder, if it has one. */
function knownKey(folder: string): Promise<Buffer | undefined> {
  return readKey(join(folder, keyName));
}

const keyName = 'account.key';
const keyBytes = 32;

async function readKey(path: string): Promise<Buffer | undefined> {
  const key = Buffer.from((await readOwn(path))?.trim() ?? '', 'hex');
  return key.length === keyBytes ? key : undefined;
}
