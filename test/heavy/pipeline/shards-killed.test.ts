import { describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFiles } from '../../../src/lake/index.js';
import { changing } from '../../support/changing.js';
import { startCli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { killedBefore } from '../../support/killed.js';
import { leads, pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

describe('a process of a shared run that is killed', () => {
  test.each(['plain', 'iceberg', 'delta'])('is run again, and the table (%s) has each row once', async (kind) => {
    const { env } = await service(changing({ leads: leads(65) }));
    const cwd = await temporaryFolder();
    const file = pipelineText(`from: leads\nto:\n  - parquet: { path: out/table, table: ${kind} }`).replace('limit: 100', 'limit: 10');
    await writeFile(join(cwd, 'p.yaml'), file);
    const run = (...words: string[]) => startCli(words, { cwd, env }).finished;
    const { stdout, stderr } = await run('plan', 'p.yaml', '--shards', '2', '--work', 'work');
    expect(stderr).toContain('2 shards');
    const plan = stdout.trim();
    let kills = 0;
    // Each is killed some changes later than the one before, until one completes.
    for (const words of [
      ['shard', 'p.yaml', plan, '0'],
      ['shard', 'p.yaml', plan, '1'],
      ['commit', 'p.yaml', plan],
    ])
      for (let nth = 1; await killedBefore(nth, words, { cwd, env, below: cwd }); nth += 9) kills += 1;
    expect(kills).toBeGreaterThan(5);
    expect((await run('commit', 'p.yaml', plan)).code).toBe(0);
    const { files } = await tableFiles(join(cwd, 'out/table'));
    const paths = files.map((path) => `'${path}'`).join();
    const [counts] = await duckdb(`SELECT count(*)::INTEGER AS n, count(DISTINCT lead_id)::INTEGER AS ids FROM read_parquet([${paths}])`);
    expect(counts).toEqual({ n: 65, ids: 65 });
    expect((await run('run', 'p.yaml')).code).toBe(0);
  });
});
