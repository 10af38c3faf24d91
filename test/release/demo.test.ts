import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../support/cli.js';
import { temporaryFolder, visible } from '../support/temporary.js';

test('leadstream demo publishes both outputs in a folder of its own, says where, and leaves the outputs of others alone', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'out'));
  await writeFile(join(cwd, 'out', 'leads_enriched.csv'), 'mine');
  const { code, stderr } = await cli(['demo', '--leads', '511', '--until', '2024-03-01'], { cwd });
  expect(code).toBe(0);
  expect(stderr).toContain('serving 511 leads until 2024-03-01 on ');
  expect(stderr).toContain('in the folder leadstream-demo');
  expect(stderr).toContain(join(cwd, 'leadstream-demo', 'out', 'leads_enriched', '*.parquet'));
  expect(await readFile(join(cwd, 'out', 'leads_enriched.csv'), 'utf8')).toBe('mine');
  expect(await visible(join(cwd, 'leadstream-demo', 'out'))).toEqual(expect.arrayContaining(['leads_enriched', 'leads_enriched.csv']));
});
