import { createHash, randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { Collection } from '../collections/index.js';
import { SourceError, amountOf, itemAt } from '../core/index.js';
import { defaults, bounds } from '../options/index.js';
import { checkConnection, collectionIn, registryOf, type ConnectOptions } from '../source/index.js';
import { checks, maxRequests, Probe } from './probe.js';
import type { DiagnoseOptions, DiagnosisFinding, Names, Result } from './probe.js';
import { secretKeyOf, type Credentials } from '../http/index.js';

const usualRate = 10;

const optional: readonly string[] = ['single_record', 'latency'];

/** The measurements of a service; plain data without credentials and rows. */
export type Diagnosis = Awaited<ReturnType<typeof diagnoseService>>;

/** Finds out how a service behaves where its documentation is silent. Whatever it does is a finding, never an error. */
export async function diagnoseService(connection: ConnectOptions<Collection>, options: DiagnoseOptions = {}) {
  checkConnection(connection);
  const registry = registryOf(connection.collections);
  const collections = [...new Set(options.collections ?? Object.keys(registry))].map((name) => collectionIn(registry, name));
  const ratePerSecond = Math.min(options.ratePerSecond ?? usualRate, connection.ratePerSecond ?? Infinity);
  const probe = new Probe(connection, { ...options, ratePerSecond });
  try {
    const found = await examine(probe, connection, collections);
    const isOpen = ({ check, outcome }: DiagnosisFinding) => !optional.includes(check) && (outcome === 'problem' || outcome === 'unknown');
    const ready = !probe.findings.some(isOpen);
    return {
      ...{ service: connection.baseUrl.replace(/\/+$/, ''), requests: probe.sent, maxRequests, ratePerSecond, ready },
      findings: probe.findings,
      /** The collection whose pages were measured; `undefined` if none of the service's own had rows. */
      measured: found.measured,
      /** The block `service` of a pipeline file, in YAML. */
      block: ready ? blockOf(options, found) : undefined,
    };
  } finally {
    await probe.close();
  }
}

type Found = Awaited<ReturnType<typeof examine>>;

async function examine(probe: Probe, connection: ConnectOptions<Collection>, collections: readonly Collection[]) {
  const standard = collections.filter(({ served }) => served === undefined);
  const tried = await probe.check('reachable', () => tryForms(probe, collections, connection.auth));
  const form = tried && (await probe.check('credentials', () => findCredentials(probe, collections, tried)));
  const list = form && standard.length > 0 ? await probe.check('collections', () => findCollections(probe, standard)) : undefined;
  const first = list && (await probe.check('first_page', () => findFirstPage(probe, list)));
  const paged = first && (await probe.check('limit', () => findLimit(probe, list, first)));
  if (paged) {
    await probe.check('end_of_list', () => findEnd(probe, list, paged));
    await probe.check('order', () => findOrder(probe, list, paged));
    await probe.check('single_record', () => findSingle(probe, list, paged));
    await probe.check('latency', () => findLatency(probe, list, paged));
  }
  let limit = paged?.limit;
  for (const collection of form ? collections.filter(({ served }) => served !== undefined) : []) {
    const limits = [...(limit === undefined ? [] : [limit]), connection.limit ?? defaults.limit];
    const accepted = await probe.check('declared_list', () => readDeclared(probe, collection, paged?.firstPage, limits));
    if (paged && accepted !== undefined) limit = Math.min(limit ?? accepted, accepted);
  }
  // The first two checks do not depend on the lists.
  for (const check of standard.length > 0 ? checks.slice(0, -1) : checks.slice(0, 2))
    if (probe.findings.every((finding) => finding.check !== check)) probe.add(check, 'unknown', 'not determined: see the findings above');
  return { form, measured: list?.name, firstPage: paged?.firstPage, limit };
}

/** Returns the block as YAML: the given parts and the results. A run finds out by itself that page 1 is the first. */
function blockOf({ service: given = {}, name }: DiagnoseOptions, { form, firstPage, limit }: Found): string {
  const { first_page: declared, ...kept } = given;
  const first = firstPage === undefined ? declared : firstPage === 1 ? undefined : String(firstPage);
  const service = {
    ...kept,
    ...(form?.remark !== undefined && { auth: { rest_api_key: '${LEADSTREAM_REST_API_KEY}' } }),
    ...(first !== undefined && { first_page: first }),
    ...(limit !== undefined && { limit: String(limit) }),
  };
  const text = stringify(name ? { services: { [name]: service } } : { service }, { schema: 'failsafe', lineWidth: 0 });
  return form?.remark === undefined ? text : text.replace(/^(\s+rest_api_key: .*)$/m, `$1 # set it to ${form.remark}`);
}

/** A form of credentials as findings name it, with a remark about its value unless it is the configured one. */
interface CredentialForm {
  readonly name: string;
  readonly auth: Credentials;
  readonly remark?: string;
}

function formsOf(configured: Credentials): readonly CredentialForm[] {
  const own = { name: Object.keys(configured).join(' + '), auth: configured };
  if (!('authorized_uid' in configured)) return [own];
  const { authorized_rest_api_key: key } = configured;
  const md5 = createHash('md5').update(key).digest('hex');
  const byKey = { name: "rest_api_key, the user's key", auth: { rest_api_key: key }, remark: 'the key of authorized_rest_api_key' };
  const byMd5 = {
    name: "rest_api_key, the MD5 of the user's key",
    auth: { rest_api_key: md5 },
    remark: 'the MD5 of authorized_rest_api_key, in lower-case hex',
  };
  return [own, byKey, byMd5];
}

type TriedForms = ReadonlyMap<CredentialForm, SourceError | undefined>;

async function tryForms(probe: Probe, collections: readonly Collection[], configured: Credentials): Promise<Result<TriedForms>> {
  const tried = new Map<CredentialForm, SourceError | undefined>();
  for (const form of formsOf(configured)) tried.set(form, await failureWith(probe, form.auth, collections));
  const [first, ...others] = tried.values();
  if (first && [first, ...others].every((failure) => failure && !isDenied(failure)))
    return ['problem', `${first.message}; check the network, and that base_url is everything before /api`];
  return ['ok', 'the service answers', tried];
}

/** Finds credentials that work, and uses them from then on. @returns None if nothing else can be measured. */
async function findCredentials(probe: Probe, collections: readonly Collection[], tried: TriedForms): Promise<Result<CredentialForm>> {
  const resultOf = (why: SourceError | undefined) => (why ? (isDenied(why) ? 'is refused' : `failed: ${why.message}`) : 'works');
  const results = [...tried].map(([{ name }, failure]) => `${name} ${resultOf(failure)}`).join('; ');
  const [form] = [...tried].find(([, failure]) => !failure) ?? [];
  if (!form) {
    const isProblem = [...tried.values()].every((failure) => failure && isDenied(failure));
    return [isProblem ? 'problem' : 'unknown', `${results}; check the key, and that the account has read access`];
  }
  const wrongKey = { [secretKeyOf(form.auth).field]: `wrong-${randomBytes(8).toString('hex')}` };
  const wrong = await failureWith(probe, { ...form.auth, ...wrongKey }, collections);
  probe.use(form.auth);
  if (!wrong) return ['note', `${results}; a wrong key works, too: the service does not check credentials here`, form];
  if (!isDenied(wrong)) return ['note', `${results}; with a wrong key: ${wrong.message}`, form];
  return [form.remark === undefined ? 'ok' : 'note', `${results}; a wrong key is refused`, form];
}

async function failureWith(probe: Probe, auth: Credentials, collections: readonly Collection[]): Promise<SourceError | undefined> {
  probe.use(auth);
  let first: SourceError | undefined;
  for (const collection of collections.slice(0, 2)) {
    const failure = await failureOf(() => firstRow(probe, collection));
    if (!failure || isDenied(failure)) return failure;
    first ??= failure;
  }
  return first;
}

async function findCollections(probe: Probe, collections: readonly Collection[]): Promise<Result<Collection>> {
  const failures: SourceError[] = [];
  const [filled, empty]: [Collection[], Collection[]] = [[], []];
  for (const collection of collections) {
    const failure = await failureOf(async () => ((await firstRow(probe, collection)) > 0 ? filled : empty).push(collection));
    if (failure) failures.push(failure);
  }
  const namesOf = (some: readonly Collection[]) => some.map(({ name }) => name).join(', ');
  const lines = [`with rows: ${namesOf(filled) || 'none'}`, ...failures.map(({ message }) => message)];
  if (empty.length > 0) lines.push(`without rows: ${namesOf(empty)}`);
  const isProblem = failures.some(({ kind }) => kind !== 'transient');
  const outcome = isProblem ? 'problem' : failures.length > 0 ? 'unknown' : empty.length > 0 ? 'note' : 'ok';
  return [outcome, lines.join('; '), filled.find(({ paged }) => paged)];
}

/** @returns The number of rows received, whatever the number of the first page is. */
async function firstRow(probe: Probe, collection: Collection): Promise<number> {
  const paging = collection.served?.paging;
  let { length } = await probe.batch(collection, paging?.scheme === 'page' ? (paging.first ?? 1) : 1, 1);
  // A service that counts from 1 may refuse page 0.
  if (length === 0 && collection.paged && !paging) await failureOf(async () => ({ length } = await probe.batch(collection, 0, 1)));
  return length;
}

async function failureOf(work: () => Promise<unknown>): Promise<SourceError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof SourceError) return error;
    throw error;
  }
}

function isDenied({ status }: SourceError): boolean {
  return status === 401 || status === 403;
}

function isRefused(error: unknown): error is SourceError {
  return error instanceof SourceError && error.code === 'E_SOURCE_REFUSED';
}

interface Paged {
  readonly firstPage: number;
  /** Rows per page: of a service, the maximum. */
  readonly limit: number;
}

const sizes = [20, 5, 1];

/** Reads two small pages as a run does, which refuses an earlier beginning and equal pages. Page 0 must be refused or have no new rows. */
async function findFirstPage(probe: Probe, collection: Collection, [limit = 1, ...smaller] = sizes): Promise<Result<Paged>> {
  let zero: Names = [];
  try {
    zero = await probe.page(collection, 0, limit);
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  try {
    const [one] = await probe.read(collection, 2, limit);
    if (one === undefined) return ['unknown', `not determined: neither page 0 nor page 1 of ${collection.name} has rows`];
    if (zero.some((name) => !one.includes(name)))
      return ['unknown', 'not determined: page 0 had other rows than page 1 once, and then not'];
    return ['ok', 'page 1 is the first: page 0 has no other rows', { firstPage: 1, limit }];
  } catch (error) {
    if (isRefused(error) && smaller.length > 0) return findFirstPage(probe, collection, smaller);
    if (!(error instanceof SourceError) || error.code !== 'E_SOURCE_FIRST_PAGE') throw error;
  }
  await probe.read(collection, 2, limit, 0);
  return ['ok', 'page 0 is the first: it has rows that page 1 does not have', { firstPage: 0, limit }];
}

async function findLimit(probe: Probe, collection: Collection, { firstPage, limit: small }: Paged): Promise<Result<Paged>> {
  const [accepted, refusal] = await largestAccepted(probe, collection, firstPage, small);
  // A run restarts with the number of rows that it gets if more follow.
  const [first, second] = await probe.read(collection, 2, accepted, firstPage);
  if (!first) return ['unknown', `not determined: ${collection.name} has no rows with limit=${accepted}`];
  const [rows, paged] = [first.length, { firstPage, limit: accepted }];
  const returned = `limit=${accepted} returns ${amountOf(rows, 'row')}`;
  // A page past the end may have the last page's rows in another order.
  if (rows < accepted && second !== undefined && second.length > 0)
    return ['note', `${rows} is the cap: ${returned}, and more follow`, { firstPage, limit: rows }];
  if (rows > accepted) return ['note', `limit has no effect: a page has ${amountOf(rows, 'row')}`, paged];
  if (refusal) return ['note', `${accepted} is the cap: more are refused (${refusal.message})`, paged];
  if (rows === accepted) return ['ok', `${returned}; leadstream requests no more`, paged];
  return ['note', `limit=${accepted} is accepted, but a cap is not determined: ${collection.name} has only ${rows}`, paged];
}

async function largestAccepted(
  probe: Probe,
  collection: Collection,
  firstPage: number,
  small: number,
): Promise<readonly [limit: number, refusal: SourceError | undefined]> {
  let [accepted, refused]: [number, number] = [small, bounds.limit.max + 1];
  let refusal: SourceError | undefined;
  for (let limit: number = bounds.limit.max; refused - accepted > 1; limit = Math.floor((accepted + refused) / 2)) {
    try {
      await probe.batch(collection, firstPage, limit);
      accepted = limit;
    } catch (error) {
      if (!isRefused(error)) throw error;
      [refused, refusal] = [limit, error];
    }
  }
  return [accepted, refusal];
}

/** Finds out what follows the end of a list, by pages that are further and further away. */
async function findEnd(probe: Probe, collection: Collection, { firstPage, limit }: Paged): Promise<Result<never>> {
  let before = '';
  for (let distance = 10; distance <= 1_000_000; distance *= 10) {
    const names = await probe.page(collection, firstPage + distance, limit);
    if (names.length === 0) return ['ok', 'pages past the end have no rows'];
    const page = JSON.stringify(names.toSorted());
    if (page === before) return ['note', 'past the end, the last page is repeated; leadstream leaves out the repeats'];
    before = page;
  }
  return ['unknown', 'not determined: there are other rows on page after page'];
}

const rowsCompared = 100;

async function findOrder(probe: Probe, collection: Collection, { firstPage, limit }: Paged): Promise<Result<never>> {
  const size = Math.min(limit, rowsCompared);
  const read = async () => [...(await probe.page(collection, firstPage, size)), ...(await probe.page(collection, firstPage + 1, size))];
  const names = await read();
  if (JSON.stringify(names) === JSON.stringify(await read()))
    return ['ok', `two pages had the same rows in the same order when read twice; ${growthOf(names)}`];
  const remedy = 'consistency: repair, the default with files, reads a list until all rows were seen; never set it to off';
  return ['note', `two pages had other rows, or another order, when read twice: the list changes, or has no order; ${remedy}`];
}

function growthOf(names: Names): string {
  const orders = names.slice(1).map((name, index) => name.localeCompare(itemAt(names, index), 'en', { numeric: true }));
  if (orders.every((order) => order > 0)) return 'their keys rise, as in a list that grows at its end (since)';
  return `their keys ${orders.every((order) => order < 0) ? 'fall' : 'do not rise'}, so the list may not grow at its end, as since needs`;
}

async function findSingle(probe: Probe, collection: Collection, { firstPage }: Paged): Promise<Result<never>> {
  const [row] = (await probe.batch(collection, firstPage, 1)).rows();
  const id = row?.[collection.id];
  if (typeof id !== 'string' || id === '') return ['unknown', `not determined: a row has no ${collection.id}`];
  const found = await probe.find(collection, id);
  const isFound = found.length > 0 && found.every((each) => each[collection.id] === id);
  const others = await probe.find(collection, '999999999999999999');
  if (isFound && others.length === 0) return ['ok', 'an existing record is found, and a missing one is not'];
  const what = isFound ? 'a missing record returns others' : `an existing record returns ${found.length === 0 ? 'nothing' : 'others'}`;
  return ['problem', `${what}: lookup: by_id and fetch ID do not work here`];
}

async function findLatency(probe: Probe, collection: Collection, { firstPage, limit }: Paged): Promise<Result<never>> {
  const lines: string[] = [];
  for (const size of new Set([Math.min(defaults.limit, limit), limit])) {
    const times: number[] = [];
    while (times.length < 3) {
      await probe.batch(collection, firstPage, size);
      times.push(probe.lastMs);
    }
    times.sort((a, b) => a - b);
    lines.push(`limit=${size}: ${itemAt(times, 1)} ms`);
  }
  return ['ok', `median of 3 requests: ${lines.join(', ')}`];
}

const pagesRead = 3;

/** @param limits Page sizes to try, the preferred one first. @returns The one that worked, unless there were no rows. */
async function readDeclared(
  probe: Probe,
  collection: Collection,
  firstPage: number | undefined,
  [limit = 1, ...smaller]: readonly number[],
): Promise<Result<number>> {
  const { name, served: { paging } = { paging: undefined } } = collection;
  let pages: readonly Names[];
  try {
    pages = await probe.read(collection, pagesRead, limit, firstPage);
  } catch (error) {
    if (isRefused(error) && smaller.length > 0) return readDeclared(probe, collection, firstPage, smaller);
    throw error;
  }
  if (pages.length === 0) return ['unknown', `${name}: not determined, because it has no rows`];
  const stale = pages.findIndex(({ length }) => length === 0);
  if (stale > 0) return ['problem', `${name}: page ${stale + 1} has only rows of earlier pages; the service does not go on as declared`];
  const rows = `${name}: pages of ${pages.map(({ length }) => length).join(', ')} rows`;
  if (pages.length < pagesRead) return ['ok', `${rows}; and then the list ends`, limit];
  if (paging?.scheme !== 'page' && paging?.scheme !== 'offset')
    return ['ok', `${rows}; each names the next one, and the end was not reached`, limit];
  const first = paging.scheme === 'page' ? (paging.first ?? firstPage ?? 1) : 1;
  const [outcome, message] = await findEnd(probe, collection, { firstPage: first, limit });
  return [outcome, `${rows}; ${message}`, limit];
}
