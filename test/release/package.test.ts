import { access, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { start } from '../support/cli.js';
import { blocksIn, guide, linksIn } from '../support/doc-comments.js';
import { installed } from '../support/installed.js';
import { listed, pipelineText, service, testKey } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

let folder: string;
let root: string;
let command: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-'));
  await installed(folder);
  root = join(folder, 'node_modules', 'leadstream');
  command = join(root, 'dist', 'cli', 'main.cjs');
});
afterAll(() => rm(folder, { recursive: true }));

/** Prints a warning where the file of a thread is missing. */
const threads = `
  import { connect, parquet } from 'leadstream';
  connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: 'key-of-the-test' }, threads: 1 }).close();
  const sink = await parquet({ path: 'users', threads: 1 }, { baseDir: '/nowhere', runId: 'run' });
  await sink.abort();
  console.log('both');
`;

test('the package has a working command, its pipeline files and nothing of the workshop', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  expect(await start(command, ['--version'], { cwd: root }).finished).toMatchObject({ code: 0, stdout: `${version}\n` });
  const demo = await start(command, ['demo', '--leads', '600', '--quiet'], { cwd: await temporaryFolder() }).finished;
  expect(demo).toMatchObject({ code: 0, stderr: '' });
  const bare = await start(process.execPath, ['--input-type=module', '--eval', threads], { cwd: folder }).finished;
  expect(bare).toMatchObject({ code: 0, stdout: 'both\n', stderr: '' });
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'examples', 'package.json', 'pipelines', 'src', 'test'];
  expect((await readdir(root)).sort()).toEqual(expected);
});

const others = ['pipelines/REFERENCE.md', 'src/service/README.md', 'examples/nightly/README.md', 'examples/container/README.md'];

test.each(['README.md', ...guide, ...others])('what %s links to is in the package', async (page) => {
  for (const { path } of await linksIn(join(root, page))) await access(join(root, dirname(page), path));
});

test('the first program of the README runs as JavaScript, compiles as TypeScript, and joins what it reads', async () => {
  const from = await service();
  const [program = ''] = await blocksIn('README.md');
  expect(program).toContain('http://127.0.0.1:8080');
  for (const file of ['sold.mjs', 'sold.mts']) await writeFile(join(folder, file), program.replace('http://127.0.0.1:8080', from.url));
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--noEmit', 'sold.mts'];
  const compiler = join(process.cwd(), 'node_modules', '.bin', 'tsc');
  expect(await start(compiler, options, { cwd: folder }).finished).toMatchObject({ code: 0, stdout: '' });
  const env = { LEADSTREAM_REST_API_KEY: testKey };
  const { code, stdout, stderr } = await start(process.execPath, ['sold.mjs'], { cwd: folder, env }).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const titles = new Map((await listed(from, 'bridges')).map(({ id, title }) => [id, title]));
  const isValid = (lead: Readonly<Record<string, unknown>>) => /^(?:yes|y|1)$/i.test(String(lead['is_valid']));
  const sold = (await listed(from, 'leads')).filter((lead) => isValid(lead) && lead['lead_status'] === 'sold');
  expect(sold.length).toBeGreaterThan(100);
  expect(stdout).toBe(sold.map(({ lead_id, bridge_id }) => `${lead_id} ${titles.get(bridge_id)}\n`).join(''));
});

test('the tests on the page about testing compile, and pass where the package is installed', async () => {
  const [program = ''] = await blocksIn('pipelines/guide/testing.md');
  await writeFile(join(folder, 'sold.test.mts'), program);
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', 'sold.test.mts'];
  const compiler = join(process.cwd(), 'node_modules', '.bin', 'tsc');
  expect(await start(compiler, options, { cwd: folder }).finished).toMatchObject({ code: 0, stdout: '' });
  const { code, stdout } = await start(process.execPath, ['--test', 'sold.test.mjs'], { cwd: folder }).finished;
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/pass 2$/m) });
});

test('without the optional packages, what needs them is refused before any request, and other files run', async () => {
  await rm(join(folder, 'node_modules', '@duckdb'), { recursive: true });
  const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
  const toInstall = { stderr: expect.stringContaining('npm install @duckdb/node-api@') };
  for (const body of [
    'steps:\n  - sort: { by: [lead_id] }\nto:\n  - csv: { path: a.csv }',
    'steps:\n  - sql: SELECT 1 AS a\nto:\n  - csv: { path: a.csv }',
    'to:\n  - parquet: { path: a, sort_by: { columns: [lead_id], scope: table } }',
  ]) {
    await writeFile(join(folder, 'p.yaml'), pipelineText(`from: leads\n${body}`));
    for (const verb of ['run', 'validate']) {
      const refused = await start(process.execPath, [command, verb, 'p.yaml'], { cwd: folder, env }).finished;
      expect(refused).toMatchObject({ code: 78, ...toInstall });
    }
  }
  await rm(join(folder, 'node_modules', 'libphonenumber-js'));
  await writeFile(join(folder, 'p.yaml'), pipelineText(`from: leads\nsteps:\n  - filter: phone(uid, 'CA') != null\nto:\n  - stdout: {}`));
  const withoutNumbers = await start(process.execPath, [command, 'run', 'p.yaml'], { cwd: folder, env }).finished;
  expect(withoutNumbers).toMatchObject({ code: 78, stderr: expect.stringContaining('npm install libphonenumber-js') });
  await rm(join(folder, 'node_modules', '@aws-sdk'), { recursive: true });
  await writeFile(join(folder, 'p.yaml'), pipelineText('from: leads\nto:\n  - csv: { path: s3://lake/a.csv }'));
  const withoutClient = await start(process.execPath, [command, 'run', 'p.yaml'], { cwd: folder, env }).finished;
  expect(withoutClient).toMatchObject({ code: 78, stderr: expect.stringContaining('npm install @aws-sdk/client-s3') });
  const program = `import { sort } from 'leadstream'; try { sort([{ field: 'a' }]); } catch (error) { console.error(error.code, error.message); }`;
  const inProgram = await start(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder, env }).finished;
  expect(inProgram).toMatchObject({ code: 0, ...toInstall });
  const demo = await start(process.execPath, [command, 'demo', '--leads', '600', '--quiet'], { cwd: folder }).finished;
  expect(demo).toMatchObject({ code: 0, stderr: '' });
});
