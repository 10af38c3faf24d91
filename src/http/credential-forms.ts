import { fieldsIn, headerKey, headerName, key, user, type CredentialField, type CredentialFields } from './credential-fields.js';

/** What credentials of each form hold, as programs and files give them. */
export interface Forms {
  readonly rest_api_key: { readonly rest_api_key: string };
  readonly authorized_uid: { readonly authorized_uid: string; readonly authorized_rest_api_key: string };
  readonly bearer: { readonly bearer: string };
  readonly header: { readonly header: { readonly name: string; readonly value: string } };
}

/**
 * The forms of credentials: the two of the service, each with the names of its query parameters, and for other services a header, which with
 * `bearer` is `Authorization: Bearer …` (RFC 6750).
 */
export type Credentials = Forms[keyof Forms];

/** All that has to be known of a form: what files may hold, checks, redaction, accounts, what doctor tries and every message follow from it. */
interface Form<C> {
  /** What the reference calls it. */
  readonly summary: string;
  readonly fields: FieldsOf<C>;
  /** What bears the credentials in a request: the query, with each field under its own name, or a header. */
  readonly sent: ((credentials: C) => CredentialHeader) | (C extends Readonly<Record<string, string>> ? 'query' : never);
}

/** A field for each text. */
type FieldsOf<C> = { readonly [K in keyof C]: C[K] extends string ? CredentialField : FieldsOf<C[K]> };

/** A header that bears credentials. */
export interface CredentialHeader {
  /** In small letters. */
  readonly name: string;
  /** What stands before the token, like `Bearer`. */
  readonly scheme?: string;
  /** The key, or what the form makes of it. It is redacted as the key is. */
  readonly token: string;
}

/** Each form; those of the service come first, and are sent in the query. One more is a type above and an entry here. */
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

/** A form without the type of its credentials: what checks and the shape of files are made of. */
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

/** The query parameters that bear credentials, of whatever form. */
export const credentialParameters: readonly string[] = credentialForms.flatMap(({ fields, sentBy }) =>
  sentBy === 'query' ? Object.keys(fields) : [],
);

/** How what is at a place below `auth` is kept. Where no form has anything, it may be a key in a wrong place, and is kept as one. */
export function privacyAt(path: readonly PropertyKey[]): CredentialField['privacy'] {
  const placed = credentialForms.flatMap(({ fields }) => fieldsIn(fields));
  const found = placed.find((each) => each.path.length === path.length && each.path.every((part, index) => part === path[index]));
  return found === undefined ? 'secret' : found.field.privacy;
}
