import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '../../src/service/index.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

// The nightly export has a run of its own below.
const files = (await readdir('pipelines')).filter((name) => name.endsWith('.yaml') && name !== 'nightly-export.yaml');

describe('every pipeline file', () => {
  test.each(files)('%s runs against the service', async (file) => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const { code, stderr } = await cli(['run', join(process.cwd(), 'pipelines', file)], { cwd, env: from.env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(' written') });
  });

  test('has tests, which pass', async () => {
    const all = ['nightly-export.yaml', ...files];
    const { code, stdout, stderr } = await cli(['test', ...all.map((name) => `pipelines/${name}`)], { cwd: process.cwd() });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d+ tests?, \d+ passed, 0 failed\n$/) });
    for (const name of all) expect(stdout).toContain(`ok   pipelines/${name}:`);
  });
});

/** `LEADSTREAM_LEADS=1000000` makes it the real size. */
const leadCount = Number(process.env.LEADSTREAM_LEADS ?? 3_001);

describe('the nightly export', () => {
  let cwd: string;
  let lake: string;

  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'leadstream-nightly-'));
    const from = await service(generate({ leads: leadCount, bridges: 20, seed: 7 }));
    const { code, stderr } = await cli(['run', join(process.cwd(), 'pipelines/nightly-export.yaml')], { cwd, env: from.env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    lake = join(cwd, 'lake');
  }, 600_000);

  afterAll(() => rm(cwd, { recursive: true }));

  test('puts all five collections into one lake, which DuckDB reads through globs', async () => {
    const counts = await Promise.all(
      ['leads', 'bridges', 'areacodes', 'links', 'users'].map(
        async (table) => (await duckdb(`select count(*)::int as rows from '${lake}/${table}/**/*.parquet'`))[0]?.rows,
      ),
    );
    expect(counts.slice(0, 2)).toEqual([leadCount, 20]);
    expect(counts.every((rows) => Number(rows) > 0)).toBe(true);
  });

  test('withholds credential-like columns and what identifies a person most', async () => {
    const columnsOf = async (table: string) =>
      (await duckdb(`select column_name from (describe select * from '${lake}/${table}/**/*.parquet')`)).map(
        ({ column_name }) => column_name,
      );
    expect(await columnsOf('bridges')).not.toContain('crm_key');
    expect(await columnsOf('leads')).not.toContain('sin_number');
    expect(await duckdb(`select distinct ip_address from '${lake}/leads/**/*.parquet'`)).toEqual([{ ip_address: '[redacted]' }]);
  });
});
