import { minSecretLength } from '../core/index.js';

/** How a field of credentials is checked and protected. */
export interface CredentialField {
  /**
   * A `secret` is a key: texts are searched for it and redacted. A `withheld` value is never printed or written to a file, but texts are not searched for it, since
   * it may be a small number. A `plain` value is not a credential.
   */
  readonly privacy: 'secret' | 'withheld' | 'plain';
  /** Describes what is wrong with a value, in words that follow the name of the field and do not reveal the value. */
  readonly problem: (value: string) => string | undefined;
}

/** The fields of a form by name. An object contains fields of its own. */
export interface CredentialFields {
  readonly [name: string]: CredentialField | CredentialFields;
}

/** A field with its path in the credentials. */
export interface PlacedField {
  readonly path: readonly string[];
  readonly field: CredentialField;
}

/** Returns whether this is a field, rather than an object of fields. */
export function isField(field: CredentialField | CredentialFields): field is CredentialField {
  return typeof field.problem === 'function';
}

/** Returns all fields of a form, in order. */
export function fieldsIn(fields: CredentialFields, path: readonly string[] = []): readonly PlacedField[] {
  return Object.entries(fields).flatMap(([name, field]) =>
    isField(field) ? [{ path: [...path, name], field }] : fieldsIn(field, [...path, name]),
  );
}

/** A key that is sent in the query. */
export const key: CredentialField = { privacy: 'secret', problem: wrongKey };

/** A key that is sent unchanged in a header. */
export const headerKey: CredentialField = { privacy: 'secret', problem: (value) => wrongKey(value) ?? notInHeader(value) };

/** Name or number of a user. */
export const user: CredentialField = { privacy: 'withheld', problem: (value) => (value === '' ? 'must not be empty' : undefined) };

/** Name of the header that carries credentials. */
export const headerName: CredentialField = { privacy: 'plain', problem: wrongHeaderName };

/** A short key would be found in other words; a key with anything around it would be refused by the service, for an unclear reason. */
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
