import type { z } from 'zod';
import { createRedactor, defined, isMap, LeadstreamError, schema, SinkError, SourceError, type CodeOf } from '../../core/index.js';
import { exchange } from '../../http/index.js';
import { parseExact, stringifyExact } from '../../json/index.js';
import { defaults, settings } from '../../options/index.js';
import { isRemote, type ObjectStore } from '../../store/index.js';
import type { Catalog, CatalogTable, Update } from './catalog.js';
import { currentOf, tableMetadata, type TableMetadata } from './metadata.js';

/** How a table in a REST catalog is reached. */
export const catalogOptions = schema((z) =>
  z.strictObject({
    uri: settings().baseUrl.describe('Address of the Iceberg REST catalog: everything before /v1.'),
    name: z
      .string()
      .regex(/^[^.]+(?:\.[^.]+)+$/, 'must be like analytics.leads')
      .describe('Namespace, created if missing, and table.'),
    warehouse: z.string().min(1).optional().describe('Warehouse, as the catalog names it. Default: that of the catalog.'),
    token: z.string().min(1).optional().describe('Bearer token. A reference only.'),
    credential: z
      .string()
      .refine((text) => /^[^:]+:./.test(text), 'must be like id:secret')
      .optional()
      .describe('For tokens by OAuth2: id:secret. A reference only.'),
    oauth2_server_uri: settings().baseUrl.optional().describe('Address that issues tokens. Default: what the catalog says, or itself.'),
    scope: z.string().min(1).default('catalog').describe('Scope of these tokens.'),
  }),
);

export type CatalogOptions = z.output<ReturnType<typeof catalogOptions>>;

/** The object in which runs note how the catalog of a table is reached, without credentials. */
export const noteKey = '_leadstream/catalog.json';
const note = schema(() => catalogOptions().pick({ uri: true, name: true, warehouse: true, scope: true }));

/**
 * Returns the catalog that the runs of a table noted; `undefined` if there is none. Its address and credentials are those of the environment, because whoever
 * writes to the store could note any address.
 *
 * @throws {SinkError} `E_SINK_CONFIG` if the environment does not name that catalog.
 */
export async function notedCatalog(store: ObjectStore, env: Readonly<Record<string, string | undefined>>): Promise<Catalog | undefined> {
  const found = await store.read(noteKey);
  if (found === undefined) return undefined;
  const { LEADSTREAM_CATALOG_URI: uri, LEADSTREAM_CATALOG_TOKEN: token, LEADSTREAM_CATALOG_CREDENTIAL: credential } = env;
  const { data: noted } = note().safeParse(parseExact(found.bytes));
  if (!noted) throw new SinkError('E_SINK_FOREIGN', `${store.root}/${noteKey} is not what leadstream writes there`);
  if (noted.uri === uri) return new RestCatalog({ ...noted, token: token || undefined, credential: credential || undefined });
  const remedy = `set LEADSTREAM_CATALOG_URI to it, and LEADSTREAM_CATALOG_TOKEN or LEADSTREAM_CATALOG_CREDENTIAL`;
  throw new SinkError('E_SINK_CONFIG', `${store.root} is the table ${noted.name} of the catalog ${noted.uri}; ${remedy}`);
}

/**
 * A table in a REST catalog: https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml. Of the addresses in its answers only that of
 * the tokens is used.
 *
 * @throws {SinkError} From every method: `E_SINK_PATH` if address, credentials or rights have to change, `E_SINK_CONFIG` for a catalog that demands what is not
 *   supported, `E_SINK_WRITE` otherwise. If `commit` rejects, it is undecided whether it happened.
 */
export class RestCatalog implements Catalog {
  readonly #namespace: readonly string[];
  readonly #table: string;
  readonly #base: string;
  #token: string | undefined;
  #properties: Readonly<Record<string, string>> | undefined;

  constructor(private readonly options: CatalogOptions & { readonly signal?: AbortSignal | undefined }) {
    const parts = options.name.split('.');
    this.#namespace = parts.slice(0, -1);
    this.#table = parts.slice(-1).join();
    this.#base = options.uri.replace(/\/+$/, '');
    this.#token = options.token;
  }

  async load(): Promise<CatalogTable | undefined> {
    const { status, body } = await this.#send(`${pathOf(this.#namespace)}/tables/${encodeURIComponent(this.#table)}`);
    return status === 404 ? undefined : this.#tableOf(body);
  }

  /** Returns the location of the table; for a new one the catalog chooses it, and missing namespaces are created. */
  async location(): Promise<string> {
    const { location } = (await this.load())?.metadata ?? (await this.#staged({ schema: { type: 'struct', fields: [] } }));
    if (isRemote(location)) return location.replace(/\/+$/, '');
    throw this.#refusal('E_SINK_CONFIG', `it keeps ${this.options.name} at ${location}, and leadstream writes to s3:// only`);
  }

  /** Notes next to the table how this catalog is reached, for commands that are given the location. */
  async noteAt(store: ObjectStore): Promise<void> {
    await store.put(noteKey, stringifyExact(note().strip().parse(this.options)));
  }

  async commit(base: CatalogTable | undefined, updates: readonly Update[]): Promise<CatalogTable | 'lost'> {
    // Without staging, SeaweedFS gives the schema and the partitions of a new table other ids than the commit has.
    const { 'table-uuid': uuid } = base?.metadata ?? (await this.#staged(creationBy(updates)));
    const identified = updates.map((update) => (update.action === 'assign-uuid' ? { ...update, uuid } : update));
    const commit = { requirements: requirementsOf(base?.metadata), updates: identified };
    const { status, body } = await this.#send(`${pathOf(this.#namespace)}/tables/${encodeURIComponent(this.#table)}`, commit);
    return status === 409 ? 'lost' : this.#tableOf(body);
  }

  /** Prepares the creation of a table. @returns What the catalog chose. */
  async #staged(creation: object): Promise<TableMetadata> {
    const create = async (path: string, body: object) => {
      const reply = await this.#send(path, body);
      if (reply.status !== 404) return reply;
      throw this.#refusal('E_SINK_PATH', `no place for ${this.options.name}${reasonIn(reply.body)}`);
    };
    for (const [index] of this.#namespace.entries()) {
      const namespace = this.#namespace.slice(0, index + 1);
      if ((await this.#send(pathOf(namespace))).status === 404) await create('namespaces', { namespace });
    }
    const request = { name: this.#table, 'stage-create': true, ...creation };
    const { status, body } = await create(`${pathOf(this.#namespace)}/tables`, request);
    if (status === 409) throw new LeadstreamError('E_RUN_LOCKED', `another writer created ${this.options.name} meanwhile`);
    return this.#tableOf(body).metadata;
  }

  #tableOf(body: unknown): CatalogTable {
    const { metadata: found, 'metadata-location': path, config, 'storage-credentials': given } = isMap(body) ? body : {};
    const isVended = ([key, value]: readonly [string, unknown]) => vending.test(key) && value !== 'false';
    if ((Array.isArray(given) && given.length > 0) || (isMap(config) && Object.entries(config).some(isVended)))
      throw this.#refusal('E_SINK_CONFIG', 'it vends credentials for the storage, which is not supported');
    if (found === undefined) throw this.#refusal('E_SINK_WRITE', `no table ${this.options.name} in its answer${reasonIn(body)}`);
    const metadata = tableMetadata(found, this.options.name);
    return { sequence: metadata['last-sequence-number'], metadata, path: typeof path === 'string' ? path : undefined };
  }

  /** Sends a request below the prefix of the catalog, with a body by POST. Only that with updates must not be repeated. */
  async #send(path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }> {
    this.#properties ??= await this.#configuration();
    const { prefix } = this.#properties;
    return this.#request(prefix === undefined ? path : `${prefix}/${path}`, body);
  }

  async #configuration(): Promise<Readonly<Record<string, string>>> {
    const query = new URLSearchParams(defined({ warehouse: this.options.warehouse })).toString();
    const { body } = await this.#request(`config${query && '?'}${query}`);
    const { defaults: usual, overrides } = isMap(body) ? body : {};
    if (!isMap(usual) || !isMap(overrides)) throw this.#refusal('E_SINK_PATH', `no configuration for this warehouse${reasonIn(body)}`);
    const texts = Object.entries({ ...usual, ...overrides }).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const properties = Object.fromEntries(texts);
    if (properties['rest.sigv4-enabled'] === 'true' || properties['rest.auth.type'] === 'sigv4')
      throw this.#refusal('E_SINK_CONFIG', 'it demands signatures by SigV4, which are not supported');
    return properties;
  }

  /** Returns the answer to a request, of which 404 and 409 are meaningful ones. A token that is no longer accepted is replaced once. */
  async #request(
    path: string,
    body?: object,
    isLast = this.options.credential === undefined,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    this.#token ??= await this.#newToken();
    try {
      const answer = await exchange({
        url: `${this.#base}/v1/${path}`,
        signal: this.options.signal,
        headers: this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` },
        label: `${body ? 'POST' : 'GET'} ${path.replace(/\?.*/, '')}`,
        attempts: body && 'updates' in body ? 1 : defaults.attempts,
        reasonIn: (refusal) => reasonIn(parseExact(refusal)),
        post: body && { type: 'application/json', body: stringifyExact(body) },
      });
      const found = parseExact(answer.body);
      if (answer.status === 404 && !(isMap(found) && isMap(found.error)))
        throw this.#refusal('E_SINK_PATH', `no REST catalog of Iceberg is at this address: /v1/${path} is not found`);
      return { status: answer.status, body: found };
    } catch (thrown) {
      const status = thrown instanceof SourceError ? thrown.status : undefined;
      if (status === 409) return { status, body: undefined };
      if (isLast || (status !== 401 && status !== 419)) throw this.#failure(thrown, body ? 'E_SINK_WRITE' : 'E_SINK_PATH');
    }
    this.#token = undefined;
    return this.#request(path, body, true);
  }

  /** Requests a token by client credentials: RFC 6749, 4.4. */
  async #newToken(): Promise<string | undefined> {
    const { credential, oauth2_server_uri: given, scope } = this.options;
    if (credential === undefined) return undefined;
    const [id, secret] = partsOf(credential);
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret, scope });
    const url = new URL(given ?? this.#properties?.['oauth2-server-uri'] ?? 'v1/oauth/tokens', `${this.#base}/`);
    const answer = await exchange({
      url: url.href,
      signal: this.options.signal,
      headers: {},
      label: `token from ${url.host}`,
      attempts: defaults.attempts,
      reasonIn: (refusal) => reasonIn(parseExact(refusal)),
      post: { type: 'application/x-www-form-urlencoded', body: form.toString() },
    }).catch((thrown: unknown) => {
      throw this.#failure(thrown, 'E_SINK_PATH');
    });
    const body = parseExact(answer.body);
    const token = isMap(body) ? body.access_token : undefined;
    if (typeof token !== 'string' || token === '')
      throw this.#refusal('E_SINK_PATH', `no token from ${url.host}; set oauth2_server_uri to the address that issues them`);
    return token;
  }

  #refusal(code: CodeOf<'SINK'>, message: string): SinkError {
    const { token = '', credential = '' } = this.options;
    const redact = createRedactor([token, this.#token ?? '', credential, ...partsOf(credential)]);
    return new SinkError(code, redact(`catalog ${new URL(this.#base).host}: ${message}`).slice(0, 500));
  }

  /** @param refused The code for a request that the catalog did not accept. */
  #failure(thrown: unknown, refused: CodeOf<'SINK'>): unknown {
    if (!(thrown instanceof SourceError)) return thrown;
    const { code, message } = thrown;
    const remedy = code === 'E_SOURCE_AUTH' ? '; check the token or credential of the catalog, and its rights' : '';
    if (code === 'E_SOURCE_REFUSED') return this.#refusal(refused, message);
    return this.#refusal(/_(?:AUTH|TLS|PROXY|CONFIG)$/.test(code) ? 'E_SINK_PATH' : 'E_SINK_WRITE', message + remedy);
  }
}

/** Configuration of a table by which a catalog gives credentials, or signs requests itself. */
const vending = /^(?:s3\.(?:access-key-id|session-token|remote-signing-enabled)|gcs\.oauth2\.token|adls\.sas-token.*)$/;

/** Returns the path of a namespace; all catalogs accept this separator. */
function pathOf(namespace: readonly string[]): string {
  return `namespaces/${namespace.map(encodeURIComponent).join('%1F')}`;
}

function partsOf(credential: string): readonly [string, string] {
  const colon = credential.indexOf(':');
  return [credential.slice(0, colon), credential.slice(colon + 1)];
}

/** Whatever another writer changed since, snapshots, schema, partitioning or order, is a conflict. */
function requirementsOf(metadata: TableMetadata | undefined): readonly object[] {
  if (metadata === undefined) return [{ type: 'assert-create' }];
  return [
    { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
    { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': currentOf(metadata)?.['snapshot-id'] ?? null },
    { type: 'assert-current-schema-id', 'current-schema-id': metadata['current-schema-id'] },
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': metadata['last-column-id'] },
    { type: 'assert-default-spec-id', 'default-spec-id': metadata['default-spec-id'] },
    { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': metadata['last-partition-id'] },
    { type: 'assert-default-sort-order-id', 'default-sort-order-id': metadata['default-sort-order-id'] },
  ];
}

/** Returns the request for what the updates of a first commit create. */
function creationBy(updates: readonly Update[]): object {
  const update = <A extends Update['action']>(action: A) =>
    updates.find((each): each is Extract<Update, { readonly action: A }> => each.action === action);
  return { location: update('set-location')?.location, schema: update('add-schema')?.schema, 'partition-spec': update('add-spec')?.spec };
}

/** Returns the reason in a refusal by a catalog, or by a server for tokens. */
function reasonIn(body: unknown): string {
  const { error, error_description: description } = isMap(body) ? body : {};
  const reasons = isMap(error) ? [error.type, error.message] : [error, description];
  return reasons.flatMap((reason) => (typeof reason === 'string' ? [`: ${reason}`] : [])).join('');
}
