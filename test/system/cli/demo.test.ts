import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cli } from '../../support/cli.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

test('leadstream demo works in a folder of its own and leaves the outputs of others alone', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'out'));
  await writeFile(join(cwd, 'out', 'leads_enriched.csv'), 'mine');
  const { code, stderr } = await cli(['demo', '--leads', '500'], { cwd });
  expect(code).toBe(0);
  expect(stderr).toContain('in the folder leadstream-demo');
  expect(await readFile(join(cwd, 'out', 'leads_enriched.csv'), 'utf8')).toBe('mine');
  expect(await visible(join(cwd, 'leadstream-demo', 'out'))).toEqual(expect.arrayContaining(['leads_enriched', 'leads_enriched.csv']));
});
