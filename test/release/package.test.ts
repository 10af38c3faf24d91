import { access, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { start } from '../support/cli.js';
import { installed as installedIn } from '../support/installed.js';
import { pipelineText } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** Packs as `npm pack` does and unpacks where `npm install` would; the dependencies are those of this checkout. */
async function installed(): Promise<string> {
  const folder = await temporaryFolder();
  const packed = await start('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: process.cwd() })
    .finished;
  const unpacked = await start('tar', ['-xzf', join(folder, packed.stdout.trim()), '-C', folder], { cwd: folder }).finished;
  expect(unpacked).toMatchObject({ code: 0 });
  await symlink(join(process.cwd(), 'node_modules'), join(folder, 'package', 'node_modules'));
  return join(folder, 'package');
}

/** A warning where the file of a thread is missing. */
const threads = `
  import { connect, parquet } from './dist/index.js';
  connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: 'key-of-the-test' }, threads: 1 }).close();
  const sink = await parquet({ path: 'users', threads: 1 }, { baseDir: '/nowhere', runId: 'run' });
  await sink.abort();
  console.log('both');
`;

test('the package has a working command, its pipeline files and nothing of the workshop', async () => {
  const folder = await installed();
  const manifest: { bin: { leadstream: string }; version: string } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const command = join(folder, manifest.bin.leadstream);
  const version = await start(command, ['--version'], { cwd: folder }).finished;
  expect(version).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  const demo = await start(command, ['demo', '--leads', '600', '--quiet'], { cwd: await temporaryFolder() }).finished;
  expect(demo).toMatchObject({ code: 0, stderr: '' });
  const bare = await start(process.execPath, ['--input-type=module', '--eval', threads], { cwd: folder }).finished;
  expect(bare).toMatchObject({ code: 0, stdout: 'both\n', stderr: '' });
  const listed = await start('ls', ['-A'], { cwd: folder }).finished;
  expect(listed.stdout.trim().split('\n')).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'examples',
    'node_modules',
    'package.json',
    'pipelines',
    'src',
    'test',
  ]);
});

test('what README and guide link to is in the package', async () => {
  const folder = await installed();
  for (const page of ['README.md', 'pipelines/GUIDE.md', 'pipelines/REFERENCE.md', 'src/service/README.md', 'examples/nightly/README.md']) {
    const text = await readFile(join(folder, page), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) => join(folder, dirname(page), link));
    const missing = await Promise.all(
      links.map(async (link) =>
        access(link).then(
          () => [],
          () => [link],
        ),
      ),
    );
    expect(missing.flat()).toEqual([]);
  }
});

test('without the optional packages, a file that sorts is refused before any request, and others run', async () => {
  const folder = await temporaryFolder();
  await installedIn(folder);
  await rm(join(folder, 'node_modules', '@duckdb'), { recursive: true });
  const command = join(folder, 'node_modules', 'leadstream', 'dist', 'cli', 'main.cjs');
  await writeFile(join(folder, 'p.yaml'), pipelineText('from: leads\nsteps:\n  - sort: { by: [lead_id] }\nto:\n  - csv: { path: a.csv }'));
  const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
  const refused = await start(process.execPath, [command, 'run', 'p.yaml'], { cwd: folder, env }).finished;
  expect(refused).toMatchObject({ code: 78, stderr: expect.stringContaining('npm install @duckdb/node-api@') });
  const demo = await start(process.execPath, [command, 'demo', '--leads', '600', '--quiet'], { cwd: folder }).finished;
  expect(demo).toMatchObject({ code: 0, stderr: '' });
});
