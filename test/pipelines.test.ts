import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { cli } from './support/cli.js';
import { duckdb } from './support/duckdb.js';
import { service } from './support/services.js';
import { temporaryFolder } from './support/temporary.js';

const files = (await readdir('pipelines')).filter((name) => name.endsWith('.yaml'));

describe('every pipeline file', () => {
  test.each(files)('%s runs against the service', async (file) => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const { code, stderr } = await cli(['run', join(process.cwd(), 'pipelines', file)], { cwd, env: from.env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(' written') });
  });
});

describe('the nightly export', () => {
  test('puts all five collections into one lake, without credential-like columns', async () => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    await cli(['run', join(process.cwd(), 'pipelines/nightly-export.yaml')], { cwd, env: from.env });
    const counts = await Promise.all(
      ['leads', 'bridges', 'areacodes', 'links', 'users'].map(
        async (table) => (await duckdb(`select count(*)::int as rows from '${cwd}/lake/${table}/**/*.parquet'`))[0]?.rows,
      ),
    );
    expect(counts.slice(0, 2)).toEqual([1_200, 20]);
    expect(counts.every((rows) => Number(rows) > 0)).toBe(true);
    const columns = await duckdb(`select column_name from (describe select * from '${cwd}/lake/bridges/*.parquet')`);
    expect(columns.map(({ column_name }) => column_name)).not.toContain('crm_key');
  });
});

describe('leadstream demo', () => {
  test('publishes both outputs and shows the first rows', async () => {
    const cwd = await temporaryFolder();
    const { code, stdout, stderr } = await cli(['demo', '--leads', '1500'], { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain(join(cwd, 'leadstream-demo', 'out', 'leads_enriched'));
    expect(stdout.split('\n')[0]).toMatch(/^lead_id +lead_status +timestamp/);
    expect(stdout.trim().split('\n')).toHaveLength(12);
  });
});
