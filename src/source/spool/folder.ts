import { readdir, rmdir, stat } from 'node:fs/promises';
import { join, resolve, basename } from 'node:path';
import { randomBytes, createHash, createHmac } from 'node:crypto';
import type { z } from 'zod';
import { attempt, inTurn, isPrivate, jsonIn, lockOwn, readOwn, unlessLocked, unlessMissing } from '../../store/index.js';
import { removeFile, removeTemporaries, replaceFile, temporaryEnding } from '../../store/index.js';
import { logName, isLost } from './page-log.js';
import { SinkError, LeadstreamError, schema } from '../../core/index.js';
import { accountOf } from '../../http/index.js';
import type { Collection } from '../../collections/index.js';
import type { ClientOptions } from '../fetch/client.js';
import { firstPageOf, type PagingOptions } from '../paging.js';

/** Removes the folder of a source with leadstream's files; it stays if it contains others. */
export async function removeSource(folder: string): Promise<void> {
  await clearSource(folder);
  await rmdir(folder).catch(() => undefined);
}

/** Removes what killed processes left in the folder of a source, and the pages unless they are kept. */
export async function clearSource(folder: string, keepsPages = false): Promise<void> {
  const names = await readdir(folder).catch(unlessMissing<readonly string[]>([]));
  const leftovers = names.filter((name) => name.startsWith(markerName) && name.endsWith(temporaryEnding));
  // The marker goes last, so that the remains of an interrupted removal have an age.
  for (const name of keepsPages ? leftovers : [...leftovers, logName, markerName]) await removeFile(join(folder, name));
}

/** Works in the state folder. @throws {SinkError} `code`, with the option that moves that folder. */
export async function inState<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  return attempt(code, what, work).catch((failure: unknown) => {
    if (!(failure instanceof SinkError)) throw failure;
    throw new SinkError(failure.code, `${failure.message}; choose another place with --state-dir`, { cause: failure });
  });
}

/** Start of the first of the runs that share a source's pages, ISO 8601, and the age in milliseconds at which these expire. */
const marker = schema((z) => z.object({ startedAt: z.iso.datetime(), maxAgeMs: z.number() }));

type Marker = z.output<ReturnType<typeof marker>>;

const markerName = 'started.json';

/** Reads the marker of a source's folder; `undefined` if it is missing or damaged, so that the pages have no known age. */
export async function readMarker(folder: string): Promise<Marker | undefined> {
  const text = await readOwn(join(folder, markerName)).catch((thrown: unknown) => {
    // A limit of open files must not discard pages.
    if (isLost(thrown) || (thrown instanceof LeadstreamError && thrown.code === 'E_STATE_FOREIGN')) return undefined;
    throw thrown;
  });
  return text === undefined ? undefined : marker().safeParse(jsonIn(text)).data;
}

/** Writes the marker before the first page, so that no page is older than it seems. */
export async function writeMarker(folder: string, { startedAt, maxAgeMs }: Marker): Promise<void> {
  await replaceFile(join(folder, markerName), `${JSON.stringify({ startedAt, maxAgeMs })}\n`, 0o600);
}

/** Returns whether pages may be used. Pages dated in the future come from a wrong clock. */
export function isFresh(found: Marker | undefined, now: number, maxAgeMs = found?.maxAgeMs ?? 0): boolean {
  return found !== undefined && Math.abs(now - Date.parse(found.startedAt)) <= maxAgeMs;
}

/** Returns when a source's spool was started; `undefined` without pages that are young enough. Another run can take them meanwhile. */
export async function spooledSince(folder: string, source: SpooledSource, maxAgeMs: number): Promise<string | undefined> {
  const spools = resolve(folder);
  return inState('E_SINK_PATH', `cannot look for spooled pages in ${spools}`, async () => {
    const key = (await isPrivate(spools)) ? await knownKey(spools) : undefined;
    if (key === undefined) return undefined;
    const path = join(spools, nameOf(source, key));
    const marker = await readMarker(path);
    if (!isFresh(marker, Date.now(), maxAgeMs)) return undefined;
    const log = await stat(join(path, logName)).catch(unlessMissing(undefined));
    return log !== undefined && log.size > 0 ? marker?.startedAt : undefined;
  });
}

/** Removes expired spools, so that no raw pages remain when a pipeline is not run again. Those in use are left alone. */
export async function sweepSpools(folder: string, now: () => number = Date.now): Promise<readonly string[]> {
  const spools = resolve(folder);
  return inState('E_SINK_WRITE', `cannot remove old spools in ${spools}`, async () => {
    if (!(await isPrivate(spools))) return [];
    const removed: string[] = [];
    for (const entry of await readdir(spools, { withFileTypes: true })) {
      if (!entry.isDirectory() || !sourceName.test(entry.name)) continue;
      const path = join(spools, entry.name);
      const isOld = async () => !isFresh(await readMarker(path), now());
      // Checked again under the lock, when no other run can start using it.
      if ((await isOld()) && (await removeIf(path, isOld))) removed.push(entry.name);
    }
    return removed;
  });
}

/** Removes a source's spool, named by its folder, after its pages were published. A spool in use is left to its run. */
export async function removeSpool(folder: string, source: string): Promise<void> {
  if (!sourceName.test(basename(source))) return;
  const path = join(resolve(folder), basename(source));
  await inState('E_SINK_WRITE', `cannot remove ${path}`, async () => {
    if (await isPrivate(path)) await removeIf(path, () => Promise.resolve(true));
  });
}

async function removeIf(folder: string, condition: () => Promise<boolean>): Promise<boolean> {
  const lock = await lockOwn(folder, { runId: `sweep-${randomBytes(4).toString('hex')}` }).catch(unlessLocked);
  if (lock === undefined) return false;
  try {
    const removes = await condition();
    if (removes) await removeSource(folder);
    return removes;
  } finally {
    await lock.release();
  }
}

/** A list of a service. Its pages are never used for another. */
interface ServiceList {
  /** Origin and path of the service, without user info and query. */
  readonly baseUrl: string;
  /** Credentials by parameter name, only for a digest, keyed with the spool folder's key. */
  readonly account: Readonly<Record<string, string>>;
  readonly collection: Collection;
}

export interface SpooledSource extends ServiceList {
  readonly limit: number;
  readonly firstPage: number;
  /** Name of a pipeline that keeps its pages while others of its file read the same list. */
  readonly pipeline?: string | undefined;
}

export type SourceOptions = Pick<ClientOptions, 'baseUrl' | 'auth'> & Pick<PagingOptions, 'firstPage'> & Pick<SpooledSource, 'pipeline'>;

export function sourceOf(collection: Collection, limit: number, options: SourceOptions): SpooledSource {
  const { baseUrl, auth, pipeline } = options;
  return { baseUrl, account: accountOf(auth), collection, limit, pipeline, firstPage: firstPageOf(collection, options) ?? 1 };
}

/** Names of the folders of sources: `<collection>-<32 hexadecimal digits>`. */
const sourceName = /^[a-z][\w.]*-[0-9a-f]{32}$/;

/** Returns the folder name of a source. @param key Secret to the spool folder, so that the name does not let credentials be guessed. */
export function nameOf({ limit, firstPage, pipeline, ...list }: SpooledSource, key: Buffer): string {
  const { paging } = list.collection.served ?? {};
  return countedName(list, key, [limit, firstPage, ...(paging ? [JSON.stringify(paging)] : []), ...(pipeline ? [pipeline] : [])]);
}

/** Returns the name of a list, however it is paged: its collection, and the head of a SHA-256 of all that distinguishes lists. */
export function countedName({ baseUrl, account, collection }: ServiceList, key: Buffer, paged: readonly (number | string)[] = []): string {
  const { origin, pathname } = new URL(baseUrl);
  const digest = createHmac('sha256', key)
    .update(JSON.stringify(Object.entries(account).sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest('hex');
  const { name, paths, served } = collection;
  // Another collection may be declared under the same name the next time.
  const own = served ? [...paths, served.rows, Object.entries(served.query)] : [];
  const parts = [origin, pathname.replace(/\/+$/, ''), name, ...paged, ...own, digest];
  return `${name}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** Returns the key of a spool folder, and creates a missing one; earlier spools are not found then. */
export async function accountKey(folder: string): Promise<Buffer> {
  await removeTemporaries(folder, (name) => name === keyName);
  const found = await knownKey(folder);
  if (found) return found;
  const path = join(folder, keyName);
  // First runs at the same time must get the same key: the pages and counts of another would not be found again.
  return inTurn(path, 'key', async () => {
    const made = (await knownKey(folder)) ?? randomBytes(keyBytes);
    await replaceFile(path, `${made.toString('hex')}\n`, 0o600);
    return made;
  });
}

const keyName = 'account.key';
const keyBytes = 32;

async function knownKey(folder: string): Promise<Buffer | undefined> {
  const key = Buffer.from((await readOwn(join(folder, keyName)))?.trim() ?? '', 'hex');
  return key.length === keyBytes ? key : undefined;
}
