import { createHash, randomBytes } from 'node:crypto';
import type { Collection } from '../collections/index.js';
import { SourceError } from '../core/index.js';
import { withKey, type Credentials } from '../http/index.js';
import type { Probe } from './probe.js';

/** A form of credentials, as named in findings. */
export interface CredentialForm {
  /** Like `rest_api_key`. */
  readonly name: string;
  readonly auth: Credentials;
  /** A note about its value, if that is not the configured one. */
  readonly remark?: string;
}

/** Returns the forms that can be made from the configured values, which come first. */
function formsOf(configured: Credentials): readonly CredentialForm[] {
  const own = { name: Object.keys(configured).join(' + '), auth: configured };
  if (!('authorized_uid' in configured)) return [own];
  const { authorized_rest_api_key: key } = configured;
  const md5 = createHash('md5').update(key).digest('hex');
  return [
    own,
    { name: "rest_api_key, the user's key", auth: { rest_api_key: key }, remark: 'the key of authorized_rest_api_key' },
    {
      name: "rest_api_key, the MD5 of the user's key",
      auth: { rest_api_key: md5 },
      remark: 'the MD5 of authorized_rest_api_key, in lower-case hex',
    },
  ];
}

/**
 * Finds out whether the expected service answers, and which credentials it accepts. Requests are then sent with these.
 *
 * @returns The form that works; `undefined` if nothing else can be measured.
 */
export async function findCredentials(
  probe: Probe,
  collections: readonly Collection[],
  configured: Credentials,
): Promise<CredentialForm | undefined> {
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
  const told = tried.map(
    ({ form, failure: why }) => `${form.name} ${why ? (isDenied(why) ? 'is refused' : `failed: ${why.message}`) : 'works'}`,
  );
  if (!working) {
    const isOpen = !failures.every(isDenied);
    probe.add('credentials', isOpen ? 'unknown' : 'problem', `${told.join('; ')}; check the key, and that the account has read access`);
    return undefined;
  }
  const { form } = working;
  const wrong = await failureWith(probe, withKey(form.auth, `wrong-${randomBytes(8).toString('hex')}`), collections);
  if (!wrong) told.push('a wrong key works, too: the service does not check credentials here');
  else told.push(isDenied(wrong) ? 'a wrong key is refused' : `with a wrong key: ${wrong.message}`);
  probe.use(form.auth);
  probe.add('credentials', form.remark === undefined && wrong && isDenied(wrong) ? 'ok' : 'note', told.join('; '));
  return form;
}

/** Returns why credentials do not get rows of any of two collections; `undefined` if they do. */
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

/** Requests a row of every standard collection. @returns The first that is paged and has rows. */
export async function findCollections(probe: Probe, collections: readonly Collection[]): Promise<Collection | undefined> {
  const failures: SourceError[] = [];
  const [filled, empty]: [Collection[], string[]] = [[], []];
  for (const collection of collections) {
    const failure = await failureOf(async () => {
      if ((await firstRow(probe, collection)) > 0) filled.push(collection);
      else empty.push(collection.name);
    });
    if (failure) failures.push(failure);
  }
  const told = [...failures.map(({ message }) => message), ...(empty.length > 0 ? [`without rows: ${empty.join(', ')}`] : [])];
  const isProblem = failures.some(({ kind }) => kind !== 'transient');
  const outcome = isProblem ? 'problem' : failures.length > 0 ? 'unknown' : empty.length > 0 ? 'note' : 'ok';
  probe.add('collections', outcome, [`with rows: ${filled.map(({ name }) => name).join(', ') || 'none'}`, ...told].join('; '));
  return filled.find(({ paged }) => paged);
}

/** Requests the first row of a list, whatever the number of its first page. @returns The number of rows received. */
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
