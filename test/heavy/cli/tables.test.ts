import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { bucket, warehouse } from '../../support/seaweedfs.js';
import { pipelineText, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const verbs = ['files', 'runs', 'verify', 'compact', 'rollback'];

inSeaweedFS('a verb that is given a pipeline file', (server) => {
  test.each(['path', 'catalog'])('finds where the store is, as with --endpoint, and the catalog: %s', async (by) => {
    const [cwd, { catalog, endpoint }] = [await temporaryFolder(), server()];
    delete process.env['AWS_ENDPOINT_URL_S3'];
    const name = `days.t_${randomUUID().slice(0, 8)}`;
    const sink = {
      path: `{ path: 's3://${bucket}/${name}' }`,
      catalog: `{ table: iceberg, catalog: { uri: '${catalog}', warehouse: ${warehouse}, name: ${name}, credential: "\${CREDENTIAL}" } }`,
    }[by];
    await writeFile(join(cwd, 'p.yaml'), pipelineText(`store: { endpoint: '${endpoint}' }\nfrom: users\nto:\n  - parquet: ${sink}`));
    for (let run = 0; run < 2; run += 1) {
      const env = { ...(await serviceOf({ users: [{ uid: String(run) }] })).env, CREDENTIAL: 'writer:writer-secret' };
      expect(await cli(['run', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
      for (const verb of run === 0 ? ['runs'] : verbs) expect(await cli([verb, 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
    }
    if (by === 'catalog') return;
    for (const verb of verbs.slice(0, 4))
      expect(await cli([verb, `s3://${bucket}/${name}`, '--endpoint', endpoint], { cwd })).toMatchObject({ code: 0 });
  });
});
