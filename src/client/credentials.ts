/**
 * The two forms in which the service takes credentials, each with the names of its query parameters (SERVICE.md,
 * Authentication).
 */
export type Credentials = { readonly rest_api_key: string } | { readonly authorized_uid: string; readonly authorized_rest_api_key: string };

/** The query parameters of the credentials. */
export function queryOf(credentials: Credentials): Readonly<Record<string, string>> {
  return 'rest_api_key' in credentials
    ? { rest_api_key: credentials.rest_api_key }
    : { authorized_uid: credentials.authorized_uid, authorized_rest_api_key: credentials.authorized_rest_api_key };
}

/** The values that must never be seen. The user id is a name, not a secret. */
export function secretsOf(credentials: Credentials): readonly string[] {
  return 'rest_api_key' in credentials ? [credentials.rest_api_key] : [credentials.authorized_rest_api_key];
}
