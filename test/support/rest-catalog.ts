import { parseExact, stringifyExact } from '../../src/json/index.js';
import { ownServer, type Handler } from './odd-server.js';

export interface CatalogRequest {
  /** As `GET namespaces/a`, without the version and the prefix of the catalog. */
  readonly call: string;
  readonly token: string | undefined;
  readonly text: string;
}

/** What a request is answered with instead; `cut` closes the connection. `undefined`: what a catalog answers. `apply` carries out the request before. */
export type Deviation = (
  request: CatalogRequest,
  apply: () => void,
) => { readonly status: number; readonly body: string; readonly location?: string } | 'cut' | undefined;

/** Metadata of a table as a catalog that another program writes to has it: its only snapshot has an id of 63 bits. */
export const foreignMetadata = `{"format-version":2,"table-uuid":"0c1d","location":"s3://bucket/a/leads/","last-sequence-number":7,"last-updated-ms":1,
"last-column-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[]}],"current-schema-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],
"default-spec-id":0,"last-partition-id":999,"sort-orders":[{"order-id":0,"fields":[]}],"default-sort-order-id":0,"properties":{},
"current-snapshot-id":9223372036854775807,"refs":{"main":{"snapshot-id":9223372036854775807,"type":"branch"}},
"snapshots":[{"snapshot-id":9223372036854775807,"sequence-number":7,"timestamp-ms":1,"manifest-list":"s3://bucket/m.avro","summary":{"operation":"append"}}]}`;

/** A catalog with at most one table, which forgets all but the snapshots of commits. Tokens are `token-1` and so on; with `open`, none is needed. */
export async function restCatalog(deviation: Deviation = () => undefined, { metadata = '', open = true, config = {} } = {}) {
  const requests: CatalogRequest[] = [];
  const namespaces = new Set<string>();
  let [table, tokens] = [metadata, 0];

  function commit(text: string): boolean {
    const { requirements, updates } = parseExact(Buffer.from(text)) as {
      requirements: Record<string, unknown>[];
      updates: Record<string, unknown>[];
    };
    const old = parseExact(Buffer.from(table || foreignMetadata)) as { 'current-snapshot-id': unknown; snapshots: unknown[] };
    const current = table === '' ? undefined : old['current-snapshot-id'];
    const holds = requirements.every(({ type, 'snapshot-id': id }) =>
      type === 'assert-create' ? table === '' : type !== 'assert-ref-snapshot-id' || id === current,
    );
    const added = updates.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot as Record<string, unknown>]));
    const snapshots = [...(table === '' ? [] : old.snapshots), ...added];
    const uuid = updates.find(({ action }) => action === 'assign-uuid')?.['uuid'] ?? '0c1d';
    if (holds)
      table = stringifyExact({ ...old, 'table-uuid': uuid, snapshots, 'current-snapshot-id': added[0]?.['snapshot-id'] ?? current });
    return holds;
  }

  function usual({ call, text, token }: CatalogRequest): readonly [number, string] {
    if (call === 'POST oauth/tokens') return [200, `{"access_token":"token-number-${(tokens += 1)}","token_type":"bearer"}`];
    if (!open && token !== `token-number-${tokens}`) return [401, '{"error":{"type":"NotAuthorizedException","message":"expired"}}'];
    if (call.startsWith('GET config')) return [200, JSON.stringify({ defaults: {}, overrides: { prefix: 'main', ...config } })];
    if (call === 'POST namespaces')
      return (namespaces.add((parseExact(Buffer.from(text)) as { namespace: string[] }).namespace.join('.')), [200, '{}']);
    const [, namespace = '', below] = /^\w+ main\/namespaces\/([^/]+)(\/tables.*)?$/.exec(`${call.replace(' ', ' main/')}`) ?? [];
    const missing = [404, '{"error":{"type":"NoSuchTableException","message":"not here","code":404}}'] as const;
    if (!namespaces.has(decodeURIComponent(namespace).replaceAll('\x1f', '.')) && table === '') return missing;
    if (below === undefined) return [200, '{}'];
    if (below === '/tables') return table === '' ? [200, `{"metadata":${foreignMetadata}}`] : [409, '{}'];
    if (call.startsWith('POST')) return commit(text) ? [200, `{"metadata":${table}}`] : [409, '{}'];
    return table === '' ? missing : [200, `{"metadata":${table},"config":{"s3.region":"eu"}}`];
  }

  const handler: Handler = (response, url, _attempt, request) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const path = (url.pathname + url.search).replace(/^\/v1\/(?:main\/)?/, '');
        const asked = {
          call: `${request.method} ${path}`,
          token: request.headers.authorization?.replace('Bearer ', ''),
          text: Buffer.concat(chunks).toString(),
        };
        requests.push(asked);
        const deviating = deviation(asked, () => void usual(asked));
        if (deviating === 'cut') return void response.destroy();
        const [status, body] = deviating ? [deviating.status, deviating.body] : usual(asked);
        response
          .writeHead(status, { 'content-type': 'application/json', ...(deviating?.location && { location: deviating.location }) })
          .end(body);
      });
  };
  const server = await ownServer(handler);
  return { uri: server.url, requests, calls: () => requests.map(({ call }) => call), table: () => table };
}
