import { itemAt } from '../core/index.js';
import { getIn, setIn } from '../options/index.js';
import { fieldsIn, type CredentialFields, type PlacedField } from './credential-fields.js';
import { formNames, forms, type CredentialHeader, type Credentials, type Forms } from './credential-forms.js';

/** Returns the query parameters of the credentials. */
export function queryOf(credentials: Credentials): Readonly<Record<string, string>> {
  return partsOf(credentials).query;
}

/** Returns the headers of the credentials. */
export function headersOf(credentials: Credentials): Readonly<Record<string, string>> {
  const { header } = partsOf(credentials);
  if (header === undefined) return {};
  const { name, scheme, token } = header;
  return { [name]: scheme === undefined ? token : `${scheme} ${token}` };
}

/** Returns what distinguishes accounts: everything that a request contains of the credentials. */
export function accountOf(credentials: Credentials): Readonly<Record<string, string>> {
  return { ...queryOf(credentials), ...headersOf(credentials) };
}

/**
 * Returns the values that texts are searched for: keys, and the header values made from them. The user id is not included, since it may be a small number. It is
 * withheld by its places instead, the query of a URL and the configuration, which are never printed.
 */
export function secretsOf(credentials: Credentials): readonly string[] {
  const parts = partsOf(credentials);
  const { values, header } = parts;
  const keys = keysIn(parts).map(({ value }) => value);
  const isMade = header !== undefined && values.every(({ value }) => value !== header.token);
  return isMade ? [...keys, header.token] : keys;
}

/** Returns the path of the field with the key. */
export function keyField(credentials: Credentials): readonly string[] {
  return itemAt(keysIn(partsOf(credentials)), 0).path;
}

/** Describes what is wrong with the key, if it is too short, or has quotes or white space around it that came from where it is stored. */
export function keyProblem(credentials: Credentials): { readonly field: readonly string[]; readonly message: string } | undefined {
  for (const { path, field, value } of keysIn(partsOf(credentials))) {
    const message = field.problem(value);
    if (message !== undefined) return { field: path, message };
  }
  return undefined;
}

/** Returns credentials of the same form and user with another key. */
export function withKey(credentials: Credentials, key: string): Credentials {
  const changed = structuredClone(credentials);
  for (const { path } of keysIn(partsOf(credentials))) setIn(changed, path, key);
  return changed;
}

function keysIn({ values }: Parts): readonly PlacedValue[] {
  return values.filter(({ field }) => field.privacy === 'secret');
}

interface PlacedValue extends PlacedField {
  readonly value: string;
}

/** The parts of credentials, by their form. */
interface Parts {
  readonly values: readonly PlacedValue[];
  readonly query: Readonly<Record<string, string>>;
  readonly header: CredentialHeader | undefined;
}

function partsOf(credentials: Credentials): Parts {
  for (const name of formNames) if (hasForm(name, credentials)) return partsBy(name, credentials);
  throw new Error('these credentials match no known form');
}

function partsBy<N extends keyof Forms>(name: N, credentials: Forms[N]): Parts {
  const { fields, sent } = forms[name];
  const values = valuesIn(fields, credentials);
  if (typeof sent === 'function') return { values, query: {}, header: sent(credentials) };
  return { values, query: Object.fromEntries(values.map(({ path, value }) => [itemAt(path, 0), value])), header: undefined };
}

function hasForm<N extends keyof Forms>(name: N, credentials: Credentials): credentials is Credentials & Forms[N] {
  const { fields } = forms[name];
  return valuesIn(fields, credentials).length === fieldsIn(fields).length;
}

/** Returns the texts in credentials that are fields of a form. */
function valuesIn(fields: CredentialFields, credentials: Credentials): readonly PlacedValue[] {
  return fieldsIn(fields).flatMap(({ path, field }) => {
    const value = getIn(credentials, path);
    return typeof value === 'string' ? [{ path, field, value }] : [];
  });
}
