import { describe, expect, test } from '@jest/globals';
import { notedCatalog, noteKey, RestCatalog, type CatalogOptions } from '../../../src/lake/iceberg/index.js';
import type { Update } from '../../../src/lake/iceberg/index.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { foreignMetadata, restCatalog, type Deviation } from '../../support/rest-catalog.js';
import { temporaryFolder } from '../../support/temporary.js';

const foreign = 9223372036854775807n;
const ours = 4611686018427;

const added = (id: number, run: string): readonly Update[] => [
  {
    action: 'add-snapshot',
    snapshot: {
      ...{ 'snapshot-id': id, 'parent-snapshot-id': foreign, 'sequence-number': 8, 'timestamp-ms': 2, 'schema-id': 0 },
      'manifest-list': 's3://bucket/n.avro',
      summary: { operation: 'append', 'leadstream.run': run },
    },
  },
  { action: 'set-snapshot-ref', 'ref-name': 'main', 'snapshot-id': id, type: 'branch' },
];
/** Opens a catalog with a table of another program. */
async function opened(deviation?: Deviation, given: Partial<CatalogOptions> = {}, about: Parameters<typeof restCatalog>[1] = {}) {
  const server = await restCatalog(deviation, { metadata: foreignMetadata, ...about });
  return { server, catalog: new RestCatalog({ uri: server.uri, name: 'a.leads', scope: 'catalog', ...given }) };
}

/** Deviates for requests whose call matches. */
const when =
  (call: RegExp, deviation: Deviation): Deviation =>
  (request, apply) =>
    call.test(request.call) ? deviation(request, apply) : undefined;
const answered =
  (status: number, body = '{}', location = ''): Deviation =>
  () => ({ status, body, location });
const refusal = (status: number, type: string) => answered(status, `{"error":{"type":"${type}","message":"said so","code":${status}}}`);

describe('a REST catalog', () => {
  test('creates a table with its namespaces, where the catalog wants it, in one commit', async () => {
    const { server, catalog } = await opened(undefined, { name: 'a.b.leads', warehouse: 'my house' }, { metadata: '' });
    expect(await catalog.load()).toBeUndefined();
    expect(await catalog.location()).toBe('s3://bucket/a/leads');
    expect(server.table()).toBe('');
    const schema = { type: 'struct' as const, 'schema-id': 0, fields: [{ id: 1, name: 'uid', required: false, type: 'string' }] };
    const updates: readonly Update[] = [
      { action: 'assign-uuid', uuid: 'mine' },
      { action: 'set-location', location: 's3://bucket/a/leads' },
      { action: 'add-schema', schema, 'last-column-id': 1 },
      ...added(ours, 'first'),
    ];
    const committed = await catalog.commit(undefined, updates);
    expect(committed).toMatchObject({ metadata: { 'table-uuid': '0c1d', snapshots: [{ 'snapshot-id': ours }] } });
    await expect(catalog.commit(undefined, updates)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect([...new Set(server.calls())]).toEqual([
      'GET config?warehouse=my+house',
      'GET namespaces/a%1Fb/tables/leads',
      'GET namespaces/a',
      'POST namespaces',
      'GET namespaces/a%1Fb',
      'POST namespaces/a%1Fb/tables',
      'POST namespaces/a%1Fb/tables/leads',
    ]);
    const staged = server.requests.filter(({ call }) => call.endsWith('/tables'))[1];
    expect(JSON.parse(staged?.text ?? '')).toEqual({ name: 'leads', 'stage-create': true, location: 's3://bucket/a/leads', schema });
  });

  test('keeps ids of 63 bits in both directions, and loses to another snapshot', async () => {
    const { server, catalog } = await opened();
    const base = await catalog.load();
    expect(base).toMatchObject({ sequence: 7, metadata: { 'current-snapshot-id': foreign } });
    const committed = await catalog.commit(base, added(ours, 'r1'));
    expect(committed).toMatchObject({ metadata: { snapshots: [{ 'snapshot-id': foreign }, { 'snapshot-id': ours }] } });
    expect(server.requests.at(-1)?.text).toMatch(
      /"ref":"main","snapshot-id":9223372036854775807\}.*"parent-snapshot-id":9223372036854775807,/,
    );
    expect(await catalog.commit(base, added(ours + 1, 'r2'))).toBe('lost');
  });

  test.each<[string, Deviation, string, RegExp]>([
    ['500', answered(500), 'E_SINK_WRITE', /POST main\/namespaces\/a\/tables\/leads: HTTP 500/],
    ['502', answered(502, '<html>'), 'E_SINK_WRITE', /HTTP 502/],
    ['503', answered(503), 'E_SINK_WRITE', /HTTP 503/],
    ['504', answered(504), 'E_SINK_WRITE', /HTTP 504/],
    ['a lost reply', () => 'cut', 'E_SINK_WRITE', /no connection|cut off/],
    ['half a reply', answered(200, '{"metadata":{'), 'E_SINK_WRITE', /no table a\.leads in its answer$/],
    ['a redirect', answered(307, '', '/elsewhere'), 'E_SINK_WRITE', /a redirect, which is never followed$/],
    ['a huge reply', answered(200, `{"metadata":"${'x'.repeat(67_108_864)}"}`), 'E_SINK_WRITE', /larger than 67,108,864 bytes$/],
    ['400', refusal(400, 'BadRequestException'), 'E_SINK_WRITE', /HTTP 400: BadRequestException: said so$/],
    ['403', refusal(403, 'ForbiddenException'), 'E_SINK_PATH', /HTTP 403: .*: said so; check the token or credential/],
    ['404', refusal(404, 'NoSuchTableException'), 'E_SINK_WRITE', /no table a\.leads in its answer: NoSuchTableException: said so$/],
  ])('leaves a commit undecided after %s, in one attempt', async (_what, deviation, code, message) => {
    const { server, catalog } = await opened(when(/^POST/, (request, apply) => (apply(), deviation(request, apply))));
    const base = await catalog.load();
    const failure: unknown = await catalog.commit(base, added(ours, 'r1')).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(server.calls().filter((call) => call.startsWith('POST'))).toHaveLength(1);
    expect((await catalog.load())?.metadata.snapshots).toHaveLength(2);
  });

  test.each<[string, Deviation | undefined, object, string, RegExp]>([
    ['rights', when(/tables/, refusal(403, 'ForbiddenException')), {}, 'E_SINK_PATH', /HTTP 403/],
    ['a page of another server', when(/tables/, answered(404, '<html>')), {}, 'E_SINK_PATH', /no REST catalog of Iceberg/],
    ['another server', when(/config/, answered(200, '[]')), {}, 'E_SINK_PATH', /no configuration/],
    [
      'a missing warehouse',
      when(/config/, refusal(404, 'NoSuchWarehouse')),
      {},
      'E_SINK_PATH',
      /no configuration for this warehouse: NoSuchWarehouse/,
    ],
    ['SigV4', undefined, { config: { 'rest.sigv4-enabled': 'true' } }, 'E_SINK_CONFIG', /SigV4/],
    [
      'vended credentials',
      when(/tables/, answered(200, `{"metadata":${foreignMetadata},"config":{"s3.access-key-id":"AKIA-their-own"}}`)),
      {},
      'E_SINK_CONFIG',
      /vends credentials for the storage, which is not supported$/,
    ],
    ['a store of another kind', undefined, { metadata: foreignMetadata.replace('s3:', 'gs:') }, 'E_SINK_CONFIG', /at gs:/],
    [
      'another version',
      undefined,
      { metadata: foreignMetadata.replace('"format-version":2', '"format-version":3') },
      'E_SINK_FOREIGN',
      /3/,
    ],
  ])('names %s', async (_what, deviation, about, code, message) => {
    const { catalog } = await opened(deviation, {}, about);
    await expect(catalog.location()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('is asked again while it is busy', async () => {
    let busy = 2;
    const { server, catalog } = await opened(when(/tables/, () => ((busy -= 1) >= 0 ? { status: 503, body: '' } : undefined)));
    expect(await catalog.load()).toMatchObject({ sequence: 7 });
    expect(server.calls()).toHaveLength(4);
  });

  test('gets a token by client credentials, and another one when it expires, once', async () => {
    const secret = 'a-secret:with&odd=signs';
    const { server, catalog } = await opened(undefined, { credential: `me:${secret}`, scope: 'PRINCIPAL_ROLE:ALL' }, { open: false });
    const base = await catalog.load();
    await restTokens(server.uri);
    expect(await catalog.commit(base, added(ours, 'r1'))).toMatchObject({ sequence: 7 });
    const tokens = server.requests.filter(({ call }) => call === 'POST oauth/tokens');
    expect(tokens).toHaveLength(3);
    const form = { grant_type: 'client_credentials', client_id: 'me', client_secret: secret, scope: 'PRINCIPAL_ROLE:ALL' };
    expect(Object.fromEntries(new URLSearchParams(tokens[0]?.text))).toEqual(form);
  });

  test('is found by a table again, if the environment names it', async () => {
    const store = new DiskObjects(await temporaryFolder());
    const { server, catalog } = await opened(undefined, { token: 'a-token-that-is-secret', warehouse: 'w' });
    expect(await notedCatalog(store, {})).toBeUndefined();
    await catalog.noteAt(store);
    const text = (await store.read(noteKey))?.bytes.toString() ?? '';
    expect(JSON.parse(text)).toEqual({ uri: server.uri, name: 'a.leads', warehouse: 'w', scope: 'catalog' });
    const env = { LEADSTREAM_CATALOG_URI: server.uri, LEADSTREAM_CATALOG_TOKEN: 'another-token' };
    expect(await (await notedCatalog(store, env))?.load()).toMatchObject({ sequence: 7 });
    expect(server.requests.at(-1)?.token).toBe('another-token');
    const requests = server.requests.length;
    const elsewhere = { ...env, LEADSTREAM_CATALOG_URI: 'https://catalog.example' };
    await expect(notedCatalog(store, elsewhere)).rejects.toMatchObject({
      code: 'E_SINK_CONFIG',
      message: expect.stringContaining('a.leads'),
    });
    await store.put(noteKey, text.replace('{', '{"oauth2_server_uri":"https://elsewhere.example",'));
    await expect(notedCatalog(store, env)).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect(server.requests).toHaveLength(requests);
  });

  test.each<[string, Deviation, Partial<CatalogOptions>, RegExp]>([
    [
      'a token',
      refused('a-token-that-is-secret'),
      { token: 'a-token-that-is-secret' },
      /HTTP 401: .*: it was \[redacted\]; check the token/,
    ],
    ['a new token too', refused('token-number-2'), { credential: 'me:a-secret-of-mine' }, /HTTP 401: .*: it was \[redacted\]; check/],
    [
      'client credentials',
      when(/tokens/, answered(401, '{"error":"invalid_client","error_description":"not a-secret-of-mine"}')),
      { credential: 'me:a-secret-of-mine' },
      /HTTP 401: .*: invalid_client: not \[redacted\]; check the token or credential/,
    ],
    ['a catalog that issues none', when(/tokens/, answered(404)), { credential: 'me:a-secret-of-mine' }, /; set oauth2_server_uri to/],
  ])('tells of refused credentials without showing them: %s', async (_what, deviation, given, message) => {
    const { server, catalog } = await opened(deviation, given);
    await expect(catalog.load()).rejects.toMatchObject({ code: 'E_SINK_PATH', message: expect.stringMatching(message) });
    expect(server.requests.length).toBeLessThan(5);
  });
});

function refused(token: string): Deviation {
  return when(/config/, answered(401, `{"error":{"type":"NotAuthorizedException","message":"it was ${token}"}}`));
}

/** Makes all tokens that were issued expire. */
async function restTokens(uri: string): Promise<void> {
  await fetch(`${uri}/v1/oauth/tokens`, { method: 'POST' });
}
