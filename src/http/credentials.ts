import { nearest, unknownName, minSecretLength } from '../core/index.js';

/**
 * The forms of credentials: the two of the service, each with the names of its query parameters, and for other services a header, which with
 * `bearer` is `Authorization: Bearer …` (RFC 6750).
 */
export type Credentials =
  | { readonly rest_api_key: string }
  | { readonly authorized_uid: string; readonly authorized_rest_api_key: string }
  | { readonly bearer: string }
  | { readonly header: { readonly name: string; readonly value: string } };

/** The query parameters of the credentials. */
export function queryOf(credentials: Credentials): Readonly<Record<string, string>> {
  if ('rest_api_key' in credentials) return { rest_api_key: credentials.rest_api_key };
  if (!('authorized_uid' in credentials)) return {};
  return { authorized_uid: credentials.authorized_uid, authorized_rest_api_key: credentials.authorized_rest_api_key };
}

/** The headers of the credentials. */
export function headersOf(credentials: Credentials): Readonly<Record<string, string>> {
  if ('bearer' in credentials) return { authorization: `Bearer ${credentials.bearer}` };
  return 'header' in credentials ? { [credentials.header.name.toLowerCase()]: credentials.header.value } : {};
}

/** What tells accounts apart. It is made of credentials. */
export function accountOf(credentials: Credentials): Readonly<Record<string, string>> {
  return { ...queryOf(credentials), ...headersOf(credentials) };
}

/**
 * The values that texts are searched for. The user id is none of them, since it may be a small number: it is withheld by its places,
 * the query of a URL and the configuration, of which neither is ever told.
 */
export function secretsOf(credentials: Credentials): readonly string[] {
  return [keyOf(credentials).key];
}

/** What is wrong with what was given as credentials, in words that follow its name and tell none of its values. */
export function credentialsProblem(auth: unknown): string | undefined {
  const forms = 'give { rest_api_key }, { authorized_uid, authorized_rest_api_key }, { bearer } or { header: { name, value } }';
  if (auth === undefined) return forms;
  if (typeof auth !== 'object' || auth === null) return `must be an object: ${forms}`;
  const given = new Map<string, unknown>(Object.entries(auth));
  const names = [...given.keys()];
  const unknown = names.find((name) => !fields.includes(name));
  // A name that is nothing like a field could be the key itself.
  if (unknown !== undefined)
    return nearest(unknown, fields) === undefined ? `has a field that is none: ${forms}` : unknownName('field', unknown, fields);
  const first = names[0] ?? 'rest_api_key';
  const wanted = families.find((family) => family.includes(first)) ?? [];
  const other = names.find((name) => !wanted.includes(name) && given.get(name) !== undefined);
  if (other !== undefined) return `${first} does not go with ${other}: ${forms}`;
  for (const name of wanted) {
    const value = given.get(name);
    if (value === undefined) return `${name} is missing: ${forms}`;
    if (name === 'header') return headerProblem(value);
    if (typeof value !== 'string') return `${name} must be a text`;
    if (name === 'authorized_uid' && value === '') return `${name} must not be empty`;
    const wrong = name === 'authorized_uid' ? undefined : (wrongKey(value) ?? (name === 'bearer' ? notInHeader(value) : undefined));
    if (wrong !== undefined) return `${name} ${wrong}`;
  }
  return undefined;
}

const families: readonly (readonly string[])[] = [['rest_api_key'], ['authorized_uid', 'authorized_rest_api_key'], ['bearer'], ['header']];
const fields = families.flat();

function headerProblem(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null) return 'header must have name and value, both texts';
  const { name, value }: { readonly name?: unknown; readonly value?: unknown } = given;
  if (typeof name !== 'string' || typeof value !== 'string') return 'header must have name and value, both texts';
  const wrongName = headerNameProblem(name);
  if (wrongName !== undefined) return `header.name ${wrongName}`;
  const wrong = wrongKey(value) ?? notInHeader(value);
  return wrong === undefined ? undefined : `header.value ${wrong}`;
}

/** What is wrong with the name of a header that bears credentials. */
export function headerNameProblem(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is no name of a header';
  return ownHeaders.includes(name.toLowerCase()) ? 'is a header that every request has already' : undefined;
}

const ownHeaders: readonly string[] = [
  ...['accept', 'accept-encoding', 'cache-control', 'connection', 'content-length', 'host', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'user-agent', 'x-leadstream-purpose'],
];

function notInHeader(value: string): string | undefined {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? undefined : 'has characters that no header can have; look where it comes from';
}

/** What is wrong with the key, if it is too short to be one, or has around it what came from the place where it is kept. */
export function keyProblem(credentials: Credentials): { readonly field: readonly string[]; readonly message: string } | undefined {
  const { field, key } = keyOf(credentials);
  const message = wrongKey(key) ?? (Object.keys(headersOf(credentials)).length > 0 ? notInHeader(key) : undefined);
  return message === undefined ? undefined : { field, message };
}

/** A short key would be found in every other word; one with more than itself is refused by the service, in other words. */
function wrongKey(key: string): string | undefined {
  if (key.length < minSecretLength) return tooShort;
  if (key.trim() !== key) return 'has white space or a line break around it; look where it comes from';
  return /^(["']).*\1$/s.test(key) ? 'has quotes around it, which the shell or an env file left; look where it comes from' : undefined;
}

const tooShort = `is shorter than ${minSecretLength} characters, so it is no key; look where it comes from`;

/** The field that holds the key. */
export function keyField(credentials: Credentials): readonly string[] {
  return keyOf(credentials).field;
}

function keyOf(credentials: Credentials): { readonly field: readonly string[]; readonly key: string } {
  if ('rest_api_key' in credentials) return { field: ['rest_api_key'], key: credentials.rest_api_key };
  if ('bearer' in credentials) return { field: ['bearer'], key: credentials.bearer };
  if ('header' in credentials) return { field: ['header', 'value'], key: credentials.header.value };
  return { field: ['authorized_rest_api_key'], key: credentials.authorized_rest_api_key };
}
