import { createHash, randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { Collection } from '../collections/index.js';
import { SourceError } from '../core/index.js';
import { defaults } from '../options/index.js';
import { checkConnection, collectionIn, registryOf, type ConnectOptions } from '../source/index.js';
import { checks, type DiagnoseOptions, type Diagnosis, type DiagnosisFinding, maxRequests, Probe } from './probe.js';
import { findEnd, findLatency, findOrder, findPaging, findSingle, lookAt } from './list.js';
import { withKey, type Credentials } from '../http/index.js';

const usualRate = 10;

const optional: readonly string[] = ['single_record', 'latency'];

/**
 * Finds out how a service behaves where its documentation is silent, by at most 60 requests, one at a time. The first pages of custom collections are read
 * as declared. The behaviour of the service is a finding, never an error.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for an invalid connection.
 * @throws {LeadstreamError} `E_RUN_ABORTED` when `signal` stopped it.
 */
export async function diagnoseService(connection: ConnectOptions<Collection>, options: DiagnoseOptions = {}): Promise<Diagnosis> {
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
      ...{ findings: probe.findings, measured: found.measured },
      block: ready ? blockOf(options.service ?? {}, found) : undefined,
    };
  } finally {
    await probe.close();
  }
}

type Found = Awaited<ReturnType<typeof examine>>;

async function examine(probe: Probe, connection: ConnectOptions<Collection>, collections: readonly Collection[]) {
  const standard = collections.filter(({ served }) => served === undefined);
  const form = await findCredentials(probe, collections, connection.auth);
  const list = form && standard.length > 0 ? await findCollections(probe, standard) : undefined;
  const paged = list && (await findPaging(probe, list));
  if (paged) {
    await probe.check('end_of_list', async () => probe.add('end_of_list', ...(await findEnd(probe, list, paged))));
    await probe.check('order', () => findOrder(probe, list, paged));
    await probe.check('single_record', () => findSingle(probe, list, paged));
    await probe.check('latency', () => findLatency(probe, list, paged));
  }
  let limit = paged?.limit;
  for (const collection of form ? collections.filter(({ served }) => served !== undefined) : []) {
    const limits = [...(limit === undefined ? [] : [limit]), connection.limit ?? defaults.limit];
    const accepted = await probe.check('declared_list', () => lookAt(probe, collection, paged?.firstPage, limits));
    if (paged && accepted !== undefined) limit = Math.min(limit ?? accepted, accepted);
  }
  // The first two do not depend on the lists.
  for (const check of standard.length > 0 ? checks.slice(0, -1) : checks.slice(0, 2))
    if (probe.findings.every((finding) => finding.check !== check)) probe.add(check, 'unknown', 'not determined: see the findings above');
  return { form, measured: list?.name, firstPage: paged?.firstPage, limit };
}

/** Returns the block as YAML: the given parts, with the results in their places. A run finds out by itself that page 1 is the first. */
function blockOf(given: Readonly<Record<string, unknown>>, { form, firstPage, limit }: Found): string {
  const { first_page: declared, ...kept } = given;
  const first = firstPage === undefined ? declared : firstPage === 1 ? undefined : String(firstPage);
  const service = {
    ...kept,
    ...(form?.remark !== undefined && { auth: { rest_api_key: '${LEADSTREAM_REST_API_KEY}' } }),
    ...(first !== undefined && { first_page: first }),
    ...(limit !== undefined && { limit: String(limit) }),
  };
  const text = stringify({ service }, { schema: 'failsafe', lineWidth: 0 });
  return form?.remark === undefined ? text : text.replace(/^(\s+rest_api_key: .*)$/m, `$1 # set it to ${form.remark}`);
}

/** A form of credentials, as named in findings, with a remark about its value, if that is not the configured one. */
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

/** Sends the next requests with the credentials that work. @returns `undefined` if nothing else can be measured. */
async function findCredentials(probe: Probe, collections: readonly Collection[], configured: Credentials) {
  const tried: { readonly form: CredentialForm; readonly failure: SourceError | undefined }[] = [];
  for (const form of formsOf(configured)) tried.push({ form, failure: await failureWith(probe, form.auth, collections) });
  const failures = tried.flatMap(({ failure }) => failure ?? []);
  const [failure] = failures;
  const [working] = tried.filter((each) => each.failure === undefined);
  if (failure && !working && !failures.some(isDenied)) {
    probe.add('reachable', 'problem', `${failure.message}; ${remedyFor(failure)}`);
    return undefined;
  }
  probe.add('reachable', 'ok', 'the service answers');
  const resultOf = (why: SourceError | undefined) => (why ? (isDenied(why) ? 'is refused' : `failed: ${why.message}`) : 'works');
  const lines = tried.map(({ form, failure: why }) => `${form.name} ${resultOf(why)}`);
  if (!working) {
    const isOpen = !failures.every(isDenied);
    probe.add('credentials', isOpen ? 'unknown' : 'problem', `${lines.join('; ')}; check the key, and that the account has read access`);
    return undefined;
  }
  const { form } = working;
  const wrong = await failureWith(probe, withKey(form.auth, `wrong-${randomBytes(8).toString('hex')}`), collections);
  if (!wrong) lines.push('a wrong key works, too: the service does not check credentials here');
  else lines.push(isDenied(wrong) ? 'a wrong key is refused' : `with a wrong key: ${wrong.message}`);
  probe.use(form.auth);
  probe.add('credentials', form.remark === undefined && wrong && isDenied(wrong) ? 'ok' : 'note', lines.join('; '));
  return form;
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

/** @returns The first collection that is paged and has rows. */
async function findCollections(probe: Probe, collections: readonly Collection[]): Promise<Collection | undefined> {
  const failures: SourceError[] = [];
  const [filled, empty]: [Collection[], string[]] = [[], []];
  for (const collection of collections) {
    const failure = await failureOf(async () => {
      if ((await firstRow(probe, collection)) > 0) filled.push(collection);
      else empty.push(collection.name);
    });
    if (failure) failures.push(failure);
  }
  const lines = [...failures.map(({ message }) => message), ...(empty.length > 0 ? [`without rows: ${empty.join(', ')}`] : [])];
  const isProblem = failures.some(({ kind }) => kind !== 'transient');
  const outcome = isProblem ? 'problem' : failures.length > 0 ? 'unknown' : empty.length > 0 ? 'note' : 'ok';
  probe.add('collections', outcome, [`with rows: ${filled.map(({ name }) => name).join(', ') || 'none'}`, ...lines].join('; '));
  return filled.find(({ paged }) => paged);
}

/** @returns The number of rows received, whatever the number of the first page. */
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

function remedyFor({ kind, status }: SourceError): string {
  if (kind === 'transient') return status === undefined ? 'check base_url, the network and the proxy' : 'try again later';
  return 'check that base_url is everything before /api, and not a web page';
}
