import { createHash, randomBytes } from 'node:crypto';
import { isNumbered, type Collection } from '../collections/index.js';
import { withKey, type Credentials } from '../http/index.js';
import { cameOf, type Findings } from './findings.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** A form of credentials, as named in findings. */
export interface CredentialForm {
  /** Like `rest_api_key`. */
  readonly name: string;
  readonly auth: Credentials;
  /** A note about its value, if that is not the configured one. */
  readonly remark?: string;
}

/** Returns the forms that can be made from the configured values. */
export function formsOf(configured: Credentials): readonly [CredentialForm, ...CredentialForm[]] {
  const name = Object.keys(configured).join(' + ');
  const own: CredentialForm = { name, auth: configured };
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
 * Finds out whether the expected service answers, and which credentials it accepts.
 *
 * @param collections At least one; the first is requested first.
 * @returns The form that works; `undefined` if nothing else can be measured.
 */
export async function reach(
  asking: Requester,
  findings: Findings,
  collections: readonly [Collection, ...Collection[]],
  forms: readonly [CredentialForm, ...CredentialForm[]],
): Promise<CredentialForm | undefined> {
  const [configured, ...others] = forms;
  const first = await askList(asking, collections[0]);
  if (first.kind === 'failed' && first.evidence.status === undefined) {
    findings.add('reachable', 'problem', `${first.evidence.answer}; check base_url, the network and the proxy`, [first]);
    return undefined;
  }
  if (!isDenied(first) && !(await isService(asking, findings, first, collections))) return undefined;
  findings.add('reachable', 'ok', 'the service answers', [first]);
  const replies: [CredentialForm, Reply][] = [[configured, await settled(asking, collections, configured, first)]];
  for (const form of others)
    replies.push([form, await settled(asking, collections, form, await askList(asking, collections[0], form.auth))]);
  const wrong = await askList(asking, collections[0], withKey(configured.auth, `wrong-${randomBytes(8).toString('hex')}`));
  const working = replies.filter(([, reply]) => standingOf(reply) === 'works');
  if (!isDenied(wrong) && working.length > 0) tellUnchecked(findings, wrong);
  else if (isDenied(wrong)) findings.add('wrong_key', 'ok', `a wrong key is refused: ${cameOf(wrong)}`, [wrong]);
  else findings.unknown('wrong_key', `a request with a wrong key ended with ${cameOf(wrong)}`, [wrong]);
  return tellForms(findings, replies, working);
}

/** Requests one row of a list, from its first page, whatever the number of that page. */
export async function askList(asking: Requester, collection: Collection, auth?: Credentials): Promise<Reply> {
  const { paging } = collection.served ?? {};
  const page = paging?.scheme === 'page' ? (paging.first ?? 1) : 1;
  const asked = { collection, ...(collection.paged && { limit: 1 }), ...(paging && isNumbered(paging) && { page }), ...(auth && { auth }) };
  let reply: Reply | undefined;
  for (const path of collection.paths) {
    reply = await asking.ask({ ...asked, path });
    if (reply.evidence.status !== 404) break;
  }
  if (!reply) throw new Error(`the collection ${collection.name} has no path`);
  return reply;
}

/** Returns what is known about a form of credentials: it works if a list was returned. */
function standingOf(reply: Reply): 'works' | 'refused' | 'unknown' {
  if (isDenied(reply)) return 'refused';
  return isList(reply) ? 'works' : 'unknown';
}

/** Returns the first reply to a form that shows whether it works; if there is none, the reply for the first collection. */
async function settled(asking: Requester, collections: readonly Collection[], { auth }: CredentialForm, first: Reply): Promise<Reply> {
  const [, next] = collections;
  if (standingOf(first) !== 'unknown' || next === undefined) return first;
  const reply = await askList(asking, next, auth);
  return standingOf(reply) === 'unknown' ? first : reply;
}

function isDenied({ evidence: { status } }: Reply): boolean {
  return status === 401 || status === 403;
}

/** Returns whether the service answered: a response that is not a list may come from another program at that address. */
async function isService(asking: Requester, findings: Findings, first: Reply, collections: readonly Collection[]): Promise<boolean> {
  if (isList(first)) return true;
  const other = collections.find((collection) => collection !== collections[0]);
  const second = other && (await askList(asking, other));
  if (second && isList(second)) return true;
  const replies = second ? [first, second] : [first];
  const passing = first.kind === 'failed';
  const remedy = passing ? 'the service is reachable but failing; try again later' : remedyFor(first, collections[0]);
  findings.add('reachable', 'problem', `${cameOf(first)}: ${remedy}`, replies);
  return false;
}

function remedyFor({ evidence: { status } }: Reply, collection: Collection | undefined): string {
  if (collection?.served)
    return status === 404
      ? `there is nothing at ${collection.paths[0]} below base_url`
      : `this is not what the file declares for ${collection.name}; check base_url, and path and rows of the collection`;
  return status === 404
    ? 'nothing was found there; base_url is everything before /api'
    : 'this is not a response of the service; check that base_url is everything before /api, and not a web page';
}

export function isList({ kind }: Reply): boolean {
  return kind === 'rows' || kind === 'none';
}

function tellUnchecked(findings: Findings, wrong: Reply): void {
  const came = cameOf(wrong);
  if (isList(wrong)) findings.add('wrong_key', 'note', `a wrong key returns ${came}: the service does not check credentials here`, [wrong]);
  else if (wrong.kind === 'failed' || wrong.kind === 'unasked') findings.unknown('wrong_key', came, [wrong]);
  else
    findings.add('wrong_key', 'note', `a wrong key returns ${came}, not 401 or 403: a run would mistake it for another failure`, [wrong]);
}

function tellForms(
  findings: Findings,
  replies: readonly (readonly [CredentialForm, Reply])[],
  working: readonly (readonly [CredentialForm, Reply])[],
): CredentialForm | undefined {
  const standings = replies.map(([, reply]) => standingOf(reply));
  const told = replies.map(([form, reply]) => `${form.name} ${sayingOf(reply)}`).join('; ');
  const [best] = working;
  const all = replies.map(([, reply]) => reply);
  if (best) {
    findings.add('credentials', best[0].remark === undefined ? 'ok' : 'note', told, all);
    return best[0];
  }
  if (standings.includes('unknown')) findings.unknown('credentials', told, all);
  else findings.add('credentials', 'problem', `${told}; check the key, and that the account has read access`, all);
  return undefined;
}

function sayingOf(reply: Reply): string {
  const standing = standingOf(reply);
  if (standing !== 'unknown') return standing === 'works' ? 'works' : 'is refused';
  return reply.kind === 'unasked' ? 'was not tried' : `ended with ${cameOf(reply)}`;
}
