import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { explainPipeline } from '../../../src/plan/index.js';
import { startCli } from '../../support/cli.js';
import { pipelineFor, serviceOf, workplace } from '../../support/services.js';

const to = (path: string) => `from: leads\nsteps:\n  - select: [lead_id]\nto:\n  - csv: { path: '${path}' }`;

describe('text files on a store', () => {
  test('are reached without credentials in the file', async () => {
    const from = await serviceOf({ leads: [] });
    for (const store of ['{ region: "${AWS_SECRET_ACCESS_KEY}" }', `{ endpoint: 'http://user:word@host' }`, '{ access_key: x }'])
      await expect(
        pipelineFor({ env: { ...from.env, AWS_SECRET_ACCESS_KEY: 'key-of-the-test' } }, `store: ${store}\n${to('x.csv')}`, '.'),
      ).rejects.toMatchObject({ code: expect.stringMatching(/^E_SPEC_/) });
  });

  test('need a package, of which validate says that it is missing', async () => {
    const cwd = await workplace(
      `${to('s3://bucket/x.csv')}\n  - parquet: { table: iceberg, catalog: { uri: 'http://127.0.0.1', name: a.b } }`,
    );
    const hidden = `(name, ...more) => found(name.replace('@aws-sdk/', 'missing/'), ...more)`;
    const hiding = `const m = require('module'), found = m._resolveFilename; m._resolveFilename = ${hidden};`;
    await writeFile(join(cwd, 'hide.cjs'), hiding);
    const env = { ...(await serviceOf({ leads: [] })).env, NODE_OPTIONS: `--require ${join(cwd, 'hide.cjs')}` };
    const { code, stderr } = await startCli(['validate', 'p.yaml'], { cwd, env }).finished;
    const twice =
      /p\.yaml:\d+:\d+ s3:\/\/ needs a package that is not installed: .*\n.* s3:\/\/ needs .* npm install @aws-sdk\/client-s3\n/;
    expect([code, stderr]).toEqual([78, expect.stringMatching(twice)]);
  });

  test('are not needed by validate', async () => {
    const cwd = await workplace(`store: { endpoint: 'http://nowhere.invalid' }\n${to('s3://bucket/x.csv')}`);
    const from = await serviceOf({ leads: [] });
    expect(await startCli(['validate', 'p.yaml'], { cwd, env: from.env }).finished).toMatchObject({ code: 0 });
    const explained = explainPipeline(await pipelineFor(from, to('s3://bucket/x.csv'), cwd));
    expect(explained.alone).toEqual(['s3://bucket/x.csv.rejects.ndjson', 's3://bucket/x.csv']);
    const mixed = explainPipeline(
      await pipelineFor(from, `${to('/out/x.csv')}\n  - parquet: { path: /out/t, table: delta }\n  - stdout: {}`, cwd),
    );
    expect([mixed.alone, mixed.together]).toEqual([['/out/t'], ['/out/x.csv.rejects.ndjson', '/out/x.csv']]);
  });
});
