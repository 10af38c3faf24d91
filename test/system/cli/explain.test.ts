import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { explainPipeline, loadPipeline } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { service, testKey, workplace } from '../../support/services.js';
import { visible } from '../../support/temporary.js';

const chain = `
from: leads
steps:
  - dedupe: {}
  - derive: { zip_city: zip_city(zipcode) }
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
  - select: [lead_id, zip_city, bridge_title, age]
  - cast: { types: { age: integer } }
  - sort: { by: [lead_id], memory: 64MB }
to:
  - parquet: { path: lake/leads }
  - csv: { path: out/leads.csv }
`;

const env = { LEADSTREAM_BASE_URL: 'https://data.example/', LEADSTREAM_REST_API_KEY: testKey };

describe('explain', () => {
  test('says what a run would request, do and write, and touches nothing', async () => {
    const cwd = await workplace(chain);
    const { code, stdout, stderr } = await cli(['explain', 'p.yaml'], { cwd, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // The whole text is that of the first day (test/golden).
    expect(stdout).toContain('│    takes all rows before it returns the first');
    expect(stdout).not.toContain(testKey);
    expect(await visible(cwd)).toEqual(['p.yaml']);
  });

  test('names the requests and columns that the run then has', async () => {
    const [from, cwd] = [await service(), await workplace(chain)];
    const { source, steps, sinks } = explainPipeline(await loadPipeline('p.yaml', { cwd, env: from.env }));
    await cli(['run', 'p.yaml'], { cwd, env: from.env });
    const asked = [source, ...steps.flatMap(({ reads }) => reads ?? [])].map(({ request }) => new URL(request.replace('GET ', '')));
    for (const { pathname, searchParams } of asked)
      expect(from.requests).toContain(
        `${pathname.replace('/api/', '')}?page=${searchParams.get('page')}&limit=${searchParams.get('limit')}`,
      );
    const [header] = (await readFile(join(cwd, 'out/leads.csv'), 'utf8')).split('\n');
    expect(header).toBe(sinks[1]?.columns.map(({ name }) => name).join(','));
    expect(steps.at(-1)?.columns).toContainEqual({ name: 'age', type: 'integer', cast: true, sensitivity: 'personal' });
  });

  test('gives JSON, of some pipelines of a file', async () => {
    const cwd = await workplace(chain);
    const pipeline = (name: string) => `name: ${name}\nfrom: links\nto:\n  - csv: { path: ${name}.csv }\n`;
    await writeFile(join(cwd, 'two.yaml'), `${pipeline('a')}---\n${pipeline('b')}`);
    const { code, stdout } = await cli(['explain', 'two.yaml', '--format', 'json', '--only', 'b'], { cwd, env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      pipelines: [{ pipeline: 'b', source: { request: 'GET https://data.example/api/links?rest_api_key=***' }, rejects: { max: '1%' } }],
    });
  });

  test.each([
    ['scheme: offset, limit: per_page', 'state=open&offset=0&per_page=50'],
    ['scheme: page', 'state=open&page=0&limit=50'],
  ])('masks credentials in headers, and follows how a collection of its own is paged: %s', async (paging, query) => {
    const own = [
      'name: own',
      'service: { base_url: "https://x.example/v1", auth: { bearer: "${LEADSTREAM_REST_API_KEY}" }, limit: 50, first_page: 0 }',
      'collections:',
      `  orders: { path: /orders, key: [no], paging: { ${paging} }, query: { state: open }, fields: { no: text } }`,
      'from: orders',
      'to:',
      '  - stdout: {}',
    ];
    const cwd = await workplace(chain);
    await writeFile(join(cwd, 'own.yaml'), own.join('\n'));
    const { stdout } = await cli(['explain', 'own.yaml'], { cwd, env });
    expect(stdout).toContain(`GET https://x.example/v1/orders?${query}, authorization: ***\n`);
  });
});
