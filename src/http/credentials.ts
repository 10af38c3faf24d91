import { createHash } from 'node:crypto';
import { itemAt, minSecretLength } from '../core/index.js';

/** Credentials: in the query, under the names of the parameters, or a header, `Authorization: Bearer …` for `bearer` (RFC 6750). */
export type Credentials =
  | { readonly rest_api_key: string }
  | { readonly authorized_uid: string; readonly authorized_rest_api_key: string }
  | { readonly bearer: string }
  | { readonly header_name: string; readonly header_value: string };

export interface CredentialField {
  /** A `secret` is a key, which texts are searched for. A `withheld` value is only never printed or written. `plain`: no credential. */
  readonly privacy: 'secret' | 'withheld' | 'plain';
  /** Describes what is wrong with a value, following the field's name, without the value. */
  readonly problem: (value: string) => string | undefined;
}

/** All about a form: the schema of files, checks, redaction, accounts, doctor's attempts, and all messages follow from it. */
export interface CredentialForm {
  readonly summary: string;
  readonly fields: Readonly<Record<string, CredentialField>>;
  /** Headers with the credentials, from their values by name. Default: none, and the query has each field under its own name. */
  readonly headers?: (values: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
}

const key: CredentialField = { privacy: 'secret', problem: wrongKey };
const headerKey: CredentialField = {
  privacy: 'secret',
  problem: (value) => {
    const isHeader = /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
    return wrongKey(value) ?? (isHeader ? undefined : 'has characters that are not allowed in a header; check where it is set');
  },
};
const user: CredentialField = { privacy: 'withheld', problem: (value) => (value === '' ? 'must not be empty' : undefined) };
const headerName: CredentialField = {
  privacy: 'plain',
  problem: (name) => (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) ? undefined : 'is not a valid header name'),
};

/** All forms, the service's own first, which are sent in the query. A new form needs a type above and an entry here. */
export const credentialForms: readonly CredentialForm[] = [
  { summary: 'rest_api_key', fields: { rest_api_key: key } },
  { summary: 'authorized_uid and authorized_rest_api_key', fields: { authorized_uid: user, authorized_rest_api_key: key } },
  {
    summary: 'bearer (Authorization: Bearer …)',
    fields: { bearer: headerKey },
    headers: ({ bearer }) => ({ authorization: `Bearer ${bearer}` }),
  },
  {
    summary: 'header_name and header_value',
    fields: { header_name: headerName, header_value: headerKey },
    headers: ({ header_name: name = '', header_value: value = '' }) => ({ [name.toLowerCase()]: value }),
  },
];

export const credentialParameters: readonly string[] = credentialForms.flatMap(({ fields, headers }) =>
  headers === undefined ? Object.keys(fields) : [],
);

/** Returns the privacy of a value by its path below `auth`. A value of no form may be a misplaced key, so it counts as one. */
export function privacyAt(path: readonly PropertyKey[]): CredentialField['privacy'] {
  const fields = new Map(credentialForms.flatMap((form) => Object.entries(form.fields)));
  return fields.get(path.map(String).join('.'))?.privacy ?? 'secret';
}

/** Returns the credentials in a request: parameters of its query, or headers. */
export function sentOf(credentials: Credentials): Readonly<Record<'query' | 'headers', Readonly<Record<string, string>>>> {
  const { headers, values } = placed(credentials);
  return headers === undefined ? { query: values, headers: {} } : { query: {}, headers: headers(values) };
}

/** Returns what distinguishes accounts: everything that a request contains of the credentials. */
export function accountOf(credentials: Credentials): Readonly<Record<string, string>> {
  const { query, headers } = sentOf(credentials);
  return { ...query, ...headers };
}

/**
 * Returns a digest that tells accounts apart, for manifests, which others may read: 64 bits of the user id, which is no secret and stays
 * when the key is replaced. A key by itself has only 16 bits, so that no guess of it can be confirmed: one in 65,536 fits.
 */
export function accountMark(credentials: Credentials): string {
  const { fields, values } = placed(credentials);
  const users = Object.entries(fields).flatMap(([name, { privacy }]) => (privacy === 'withheld' ? [values[name]] : []));
  const identity = users.length === 0 ? accountOf(credentials) : users;
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  return digest.slice(0, users.length === 0 ? 4 : 16);
}

/**
 * Returns the key, the only value that texts are searched for: the user id, possibly a small number, is withheld by its places. `problem`:
 * the key is too short, or has quotes or white space around it from where it is stored.
 */
export function secretKeyOf(credentials: Credentials) {
  const { fields, values } = placed(credentials);
  const keys = Object.entries(fields).filter(([, { privacy }]) => privacy === 'secret');
  const [field, { problem }] = itemAt(keys, 0);
  const value = values[field] ?? '';
  return { field, value, problem: problem(value) };
}

/** Describes what is wrong with a program's credentials, following their name, without a value. */
export function credentialsProblem(auth: unknown): string | undefined {
  const found = formOf(auth);
  // An unknown name could be the key itself, so none is shown.
  if (found === undefined) return mustHaveForm;
  const problems = Object.entries(found.fields).map(([name, field]) => {
    const problem = field.problem(found.values[name] ?? '');
    return problem === undefined ? undefined : `${name} ${problem}`;
  });
  return problems.find((problem) => problem !== undefined);
}

const forms = credentialForms.map(({ fields }) => `{ ${Object.keys(fields).join(', ')} }`);
export const mustHaveForm = `must be ${forms.join(' or ')}, all texts`;

/** Returns the form of credentials, and their values by name; `undefined` if there is no such form. */
function formOf(auth: unknown): (CredentialForm & { readonly values: Readonly<Record<string, string>> }) | undefined {
  if (typeof auth !== 'object' || auth === null) return undefined;
  const given = Object.entries(auth).filter(([, value]) => value !== undefined);
  const texts = given.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const form = credentialForms.find(({ fields }) => {
    const names = Object.keys(fields);
    return names.length === given.length && names.every((name) => texts.some(([known]) => known === name));
  });
  return form && { ...form, values: Object.fromEntries(texts) };
}

function placed(credentials: Credentials) {
  const found = formOf(credentials);
  if (!found) throw new Error('these credentials match no known form');
  return found;
}

/** A short key would be found in other words, and the service would refuse one with anything around it, for an unclear reason. */
function wrongKey(value: string): string | undefined {
  if (value.length < minSecretLength) return `is shorter than ${minSecretLength} characters, so it cannot be a key; check where it is set`;
  if (value.trim() !== value) return 'has white space or a line break around it; check where it is set';
  return /^(["']).*\1$/s.test(value) ? 'has quotes around it, which the shell or an env file left; check where it is set' : undefined;
}
