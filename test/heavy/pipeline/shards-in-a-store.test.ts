import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changing } from '../../support/changing.js';
import { cli } from '../../support/cli.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { bucket } from '../../support/seaweedfs.js';
import { leads, pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

inSeaweedFS('a run of several processes in a store', (server) => {
  const fates: Readonly<Record<string, Fate>> = { 'was lost': 'applied', 'was 500': 'failed', 'was 503, and never arrived': 'refused' };

  test.each(['plain', 'iceberg', 'delta'].flatMap((kind) => Object.keys(fates).map((fate) => [kind, fate])))(
    'keeps the files (%s) of a shard whose result was stored, although the answer %s',
    async (kind, fate) => {
      const { env } = await service(changing({ leads: leads(95) }));
      const cwd = await temporaryFolder();
      const table = `s3://${bucket}/shared-${randomUUID().slice(0, 8)}`;
      const file = (endpoint: string) =>
        pipelineText(`store: { endpoint: '${endpoint}' }\nfrom: leads\nto:\n  - parquet: { path: '${table}/t', table: ${kind} }`);
      const proxy = await cuttingProxy(server().endpoint, (request) => {
        const isResult = /^PUT .*\/parts\/\d+\.json$/.test(request);
        return isResult && proxy.requests.filter((each) => each === request).length === 1 ? (fates[fate] ?? 'answered') : 'answered';
      });
      await writeFile(join(cwd, 'p.yaml'), file(proxy.url).replace('limit: 100', 'limit: 10'));
      const run = (...words: string[]) => cli(words, { cwd, env });
      const planned = await run('plan', 'p.yaml', '--shards', '2', '--work', `${table}/work`);
      expect(planned.stderr).toContain('2 shards');
      const plan = planned.stdout.trim();
      for (const index of ['0', '1', '0']) expect(await run('shard', 'p.yaml', plan, index)).toMatchObject({ code: 0 });
      expect(await run('commit', 'p.yaml', plan)).toMatchObject({ code: 0 });
      expect(await run('commit', 'p.yaml', plan)).toMatchObject({ code: 0 });
      expect(await run('verify', 'p.yaml')).toMatchObject({ code: 0, stderr: expect.stringContaining('95 rows') });
    },
  );
});
