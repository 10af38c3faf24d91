import { fieldsIn, headerKey, headerName, key, user, type CredentialField, type CredentialFields } from './credential-fields.js';

/** The credentials of each form, as given by programs and files. */
export interface Forms {
  readonly rest_api_key: { readonly rest_api_key: string };
  readonly authorized_uid: { readonly authorized_uid: string; readonly authorized_rest_api_key: string };
  readonly bearer: { readonly bearer: string };
  readonly header: { readonly header: { readonly name: string; readonly value: string } };
}

/**
 * Credentials in one of the forms: the two of the service, whose fields are named like the query parameters, or a header for other services, which for
 * `bearer` is `Authorization: Bearer …` (RFC 6750).
 */
export type Credentials = Forms[keyof Forms];

/** Everything about a form: the schema of files, checks, redaction, accounts and all messages follow from it. */
interface Form<C> {
  /** Its name in the reference. */
  readonly summary: string;
  readonly fields: FieldsOf<C>;
  /** How a request carries the credentials: in the query, each field under its own name, or in a header. */
  readonly sent: ((credentials: C) => CredentialHeader) | (C extends Readonly<Record<string, string>> ? 'query' : never);
}

/** A field for each text. */
type FieldsOf<C> = { readonly [K in keyof C]: C[K] extends string ? CredentialField : FieldsOf<C[K]> };

/** A header that carries credentials. */
export interface CredentialHeader {
  /** In lower case. */
  readonly name: string;
  /** Precedes the token, like `Bearer`. */
  readonly scheme?: string;
  /** The key, or a value made from it; redacted like the key. */
  readonly token: string;
}

/** All forms, those of the service first, which are sent in the query. To add a form, add a type above and an entry here. */
export const forms: { readonly [N in keyof Forms]: Form<Forms[N]> } = {
  rest_api_key: { summary: 'rest_api_key', fields: { rest_api_key: key }, sent: 'query' },
  authorized_uid: {
    summary: 'authorized_uid and authorized_rest_api_key',
    fields: { authorized_uid: user, authorized_rest_api_key: key },
    sent: 'query',
  },
  bearer: {
    summary: 'bearer (Authorization: Bearer …)',
    fields: { bearer: headerKey },
    sent: ({ bearer }) => ({ name: 'authorization', scheme: 'Bearer', token: bearer }),
  },
  header: {
    summary: 'header with name and value',
    fields: { header: { name: headerName, value: headerKey } },
    sent: ({ header }) => ({ name: header.name.toLowerCase(), token: header.value }),
  },
};

export const formNames = Object.keys(forms) as readonly (keyof Forms)[];

/** A form without the type of its credentials, for checks and the schema of files. */
export interface CredentialForm {
  readonly summary: string;
  readonly fields: CredentialFields;
  readonly sentBy: 'query' | 'header';
}

/** The forms, those of the service first. */
export const credentialForms: readonly CredentialForm[] = Object.values(forms).map(({ summary, fields, sent }) => ({
  summary,
  fields,
  sentBy: sent === 'query' ? 'query' : 'header',
}));

/** The query parameters that carry credentials, of all forms. */
export const credentialParameters: readonly string[] = credentialForms.flatMap(({ fields, sentBy }) =>
  sentBy === 'query' ? Object.keys(fields) : [],
);

/** Returns the privacy of a value by its path below `auth`. A value that belongs to no form may be a misplaced key, so it counts as one. */
export function privacyAt(path: readonly PropertyKey[]): CredentialField['privacy'] {
  const placed = credentialForms.flatMap(({ fields }) => fieldsIn(fields));
  const found = placed.find((each) => each.path.length === path.length && each.path.every((part, index) => part === path[index]));
  return found === undefined ? 'secret' : found.field.privacy;
}
