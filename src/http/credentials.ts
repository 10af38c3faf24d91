import { nearest, unknownName, minSecretLength } from '../core/index.js';

/**
 * The two forms in which the service takes credentials, each with the names of its query parameters.
 */
export type Credentials = { readonly rest_api_key: string } | { readonly authorized_uid: string; readonly authorized_rest_api_key: string };

/** The query parameters of the credentials. */
export function queryOf(credentials: Credentials): Readonly<Record<string, string>> {
  return 'rest_api_key' in credentials
    ? { rest_api_key: credentials.rest_api_key }
    : { authorized_uid: credentials.authorized_uid, authorized_rest_api_key: credentials.authorized_rest_api_key };
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
  const forms = 'give { rest_api_key }, or { authorized_uid, authorized_rest_api_key }';
  if (auth === undefined) return forms;
  if (typeof auth !== 'object' || auth === null) return `must be an object: ${forms}`;
  const given = new Map<string, unknown>(Object.entries(auth));
  const names = [...given.keys()];
  const unknown = names.find((name) => !fields.includes(name));
  // A name that is nothing like a field could be the key itself.
  if (unknown !== undefined)
    return nearest(unknown, fields) === undefined ? `has a field that is none: ${forms}` : unknownName('field', unknown, fields);
  const wanted = given.has('rest_api_key') || names.length === 0 ? fields.slice(0, 1) : fields.slice(1);
  const other = names.find((name) => !wanted.includes(name) && given.get(name) !== undefined);
  if (other !== undefined) return `rest_api_key does not go with ${other}: ${forms}`;
  for (const name of wanted) {
    const value = given.get(name);
    if (value === undefined) return `${name} is missing: ${forms}`;
    if (typeof value !== 'string') return `${name} must be a text`;
    if (name === 'authorized_uid' && value === '') return `${name} must not be empty`;
    const wrong = name === 'authorized_uid' ? undefined : wrongKey(value);
    if (wrong !== undefined) return `${name} ${wrong}`;
  }
  return undefined;
}

const fields: readonly string[] = ['rest_api_key', 'authorized_uid', 'authorized_rest_api_key'];

/** What is wrong with the key, if it is too short to be one, or has around it what came from the place where it is kept. */
export function keyProblem(credentials: Credentials): { readonly field: string; readonly message: string } | undefined {
  const { field, key } = keyOf(credentials);
  const message = wrongKey(key);
  return message === undefined ? undefined : { field, message };
}

/** A short key would be found in every other word; one with more than itself is refused by the service, in other words. */
function wrongKey(key: string): string | undefined {
  if (key.length < minSecretLength) return tooShort;
  if (key.trim() !== key) return 'has white space or a line break around it; look where it comes from';
  return /^(["']).*\1$/s.test(key) ? 'has quotes around it, which the shell or an env file left; look where it comes from' : undefined;
}

const tooShort = `is shorter than ${minSecretLength} characters, so it is no key; look where it comes from`;

function keyOf(credentials: Credentials): { readonly field: string; readonly key: string } {
  return 'rest_api_key' in credentials
    ? { field: 'rest_api_key', key: credentials.rest_api_key }
    : { field: 'authorized_rest_api_key', key: credentials.authorized_rest_api_key };
}
