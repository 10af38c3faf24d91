import { minSecretLength } from '../core/index.js';

/** How a field of credentials is checked and kept. */
export interface CredentialField {
  /**
   * A `secret` is a key: texts are searched for it. What is `withheld` is never told and never in a file, but no text is searched for it, since
   * it may be a small number. What is `plain` is no credential.
   */
  readonly privacy: 'secret' | 'withheld' | 'plain';
  /** What is wrong with a value, in words that follow the name of the field and tell nothing of the value. */
  readonly problem: (value: string) => string | undefined;
}

/** The fields of a form by their names; one that is an object has fields of its own. */
export interface CredentialFields {
  readonly [name: string]: CredentialField | CredentialFields;
}

/** A field at its place in credentials. */
export interface PlacedField {
  readonly path: readonly string[];
  readonly field: CredentialField;
}

/** Whether it is a field, and not an object of some. */
export function isField(field: CredentialField | CredentialFields): field is CredentialField {
  return typeof field.problem === 'function';
}

/** All fields of a form, in their order. */
export function fieldsIn(fields: CredentialFields, path: readonly string[] = []): readonly PlacedField[] {
  return Object.entries(fields).flatMap(([name, field]) =>
    isField(field) ? [{ path: [...path, name], field }] : fieldsIn(field, [...path, name]),
  );
}

/** A key that goes into the query. */
export const key: CredentialField = { privacy: 'secret', problem: wrongKey };

/** A key that is in a header as it is. */
export const headerKey: CredentialField = { privacy: 'secret', problem: (value) => wrongKey(value) ?? notInHeader(value) };

/** The name or number of a user. */
export const user: CredentialField = { privacy: 'withheld', problem: (value) => (value === '' ? 'must not be empty' : undefined) };

/** The name of a header that bears credentials. */
export const headerName: CredentialField = { privacy: 'plain', problem: wrongHeaderName };

/** A short key would be found in every other word; one with more than itself is refused by the service, in other words. */
function wrongKey(value: string): string | undefined {
  if (value.length < minSecretLength) return tooShort;
  if (value.trim() !== value) return 'has white space or a line break around it; check where it is set';
  return /^(["']).*\1$/s.test(value) ? 'has quotes around it, which the shell or an env file left; check where it is set' : undefined;
}

const tooShort = `is shorter than ${minSecretLength} characters, so it cannot be a key; check where it is set`;

function notInHeader(value: string): string | undefined {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? undefined : 'has characters that are not allowed in a header; check where it is set';
}

function wrongHeaderName(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a valid header name';
  return ownHeaders.includes(name.toLowerCase()) ? 'is a header that every request already has' : undefined;
}

const ownHeaders: readonly string[] = [
  ...['accept', 'accept-encoding', 'cache-control', 'connection', 'content-length', 'host', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'user-agent', 'x-leadstream-purpose'],
];
