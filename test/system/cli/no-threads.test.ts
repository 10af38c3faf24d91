import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from '../../../src/service/index.js';
import { start } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith } from '../../support/temporary.js';

/** The permission model of Node, which forbids threads unless `--allow-worker` is given, and in Node 20 also the relative link of a table. */
const [permission, table] = process.version.startsWith('v20.')
  ? ['--experimental-permission', '']
  : ['--permission', '  - parquet: { path: lake/leads }\n'];

test.each([
  ['by default', '', false],
  ['with threads: 0', '  threads: 0\n', false],
  ['with threads: 1', '  threads: 1\n', true],
])('where threads are forbidden, a run goes on without them %s', async (_when, threads, warns) => {
  const { env } = await service(generate({ leads: 250 }));
  const chain = `from: leads\nto:\n  - ndjson: { path: leads.ndjson }\n${table}`;
  const cwd = await folderWith({ 'p.yaml': pipelineText(chain).replace('  limit: 100\n', `  limit: 100\n${threads}`) });
  const main = join(process.cwd(), 'dist/cli/main.cjs');
  const words = [permission, '--allow-fs-read=*', '--allow-fs-write=*', main, 'run', 'p.yaml', '--quiet'];
  const { code, stderr } = await start(process.execPath, words, { cwd, env }).finished;
  expect({ code, warns: stderr.includes('W_THREADS') }).toEqual({ code: 0, warns });
  expect(stderr).not.toContain('E_');
  expect((await readFile(join(cwd, 'leads.ndjson'), 'utf8')).trimEnd().split('\n')).toHaveLength(250);
});
