import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { start, startCli } from '../../support/cli.js';
import { service, toCsv, toStdout, workplace, pipelineText } from '../../support/services.js';
import { readdir, writeFile, readFile, chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limitReached } from '../../../src/core/index.js';
import { temporaryFolder, folderWith } from '../../support/temporary.js';
import { generate } from '../../../src/service/index.js';
import module from 'node:module';

describe('the readers of a command', () => {
  test('may have had enough of stdout: it ends quietly and with 0', async () => {
    const [from, cwd] = [await service(), await workplace(toStdout)];
    const { process: child, finished } = startCli(['run', 'p.yaml'], { cwd, env: from.env });
    if (child.stdout) await once(child.stdout, 'data');
    child.stdout?.destroy();
    expect(await finished).toMatchObject({ code: 0, stderr: '' });
  });

  test('may close stderr: the run goes on', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const { process: child, finished } = startCli(['run', 'p.yaml'], { cwd, env: from.env });
    child.stderr?.destroy();
    expect((await finished).code).toBe(0);
  });

  test('may take their time: a signal ends the process at once', async () => {
    const [from, cwd] = [await service(), await workplace(toStdout)];
    const { process: child, finished } = startCli(['run', 'p.yaml'], { cwd, env: from.env });
    child.stdout?.pause();
    await from.until(({ length }) => length >= 3);
    child.kill('SIGTERM');
    const ended = await Promise.race([once(child, 'exit'), setTimeout(5_000, ['still running'], { ref: false })]);
    child.stdout?.resume();
    await finished;
    expect(ended).toEqual([143, null]);
  });

  test('may have no room: that is a clean failure', async () => {
    const full = await start('sh', ['-c', `"${process.execPath}" dist/cli/main.cjs schema > /dev/full`], { cwd: process.cwd() }).finished;
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^leadstream: E_SINK_WRITE: stdout: ENOSPC/);
    const tests = await start('sh', ['-c', `"${process.execPath}" dist/cli/main.cjs test pipelines/*.yaml > /dev/full`], {
      cwd: process.cwd(),
    }).finished;
    expect(tests).toMatchObject({ code: 1, stderr: full.stderr });
  });
});

const main = fileURLToPath(new URL('../../../dist/cli/main.cjs', import.meta.url));

/** Runs a pipeline by the built command, under a limit of the shell. */
async function runUnder(limit: string) {
  const [from, cwd] = [await service(), await workplace('from: users\nto: [{ csv: { path: users.csv } }]')];
  const script = `ulimit ${limit} && exec "$0" "$@"`;
  const ended = await start('sh', ['-c', script, process.execPath, main, 'run', 'p.yaml'], { cwd, env: from.env }).finished;
  return { ...ended, published: (await readdir(cwd)).includes('users.csv') };
}

test.each([
  ['-n 64', 'E_RUN_FILES'],
  ['-v 9000000', 'E_RUN_MEMORY'],
])('too few open files, and too little memory for WebAssembly, are told by their name: ulimit %s', async (limit, name) => {
  const { code, stderr, published } = await runUnder(limit);
  // Some versions of Node get along with it; then there is nothing to tell.
  if (code === 0) return expect(published).toBe(true);
  const told = expect.stringMatching(new RegExp(`^leadstream: ${name}: `));
  expect({ code, stderr, published }).toEqual({ code: 1, stderr: told, published: false });
});

const coded = (code: string) => Object.assign(new Error(`${code}: as the system says it, open '/x'`), { code });

const threadFailing = (reason: string) =>
  Object.assign(new Error(`Worker initialization failure: ${reason}`), { code: 'ERR_WORKER_INIT_FAILED' });
test.each([
  ['EMFILE', coded('EMFILE'), 'E_RUN_FILES'],
  ['ENOMEM', coded('ENOMEM'), 'E_RUN_MEMORY'],
  ['a thread that may open no files', threadFailing('EMFILE'), 'E_RUN_FILES'],
  ['a thread that gets no memory', threadFailing('ENOMEM'), 'E_RUN_MEMORY'],
  ['a buffer without memory', new RangeError('Array buffer allocation failed'), 'E_RUN_MEMORY'],
])('limitReached of %s', (_what, thrown, code) => {
  expect(limitReached(thrown)).toMatchObject({ code, exit: 1, message: expect.stringContaining(thrown.message), cause: thrown });
});

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

const keeps = 'enableCompileCache' in module;

/** Starts the command with a folder for caches. @returns Its folder there. */
async function started(cache: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const cwd = await temporaryFolder();
  expect(await startCli(['--version'], { cwd, env: { XDG_CACHE_HOME: cache, ...env } }).finished).toMatchObject({ code: 0, stderr: '' });
  return join(cache, 'leadstream');
}

(keeps ? test : test.skip)(
  'compiled code is kept in a private folder below that of the user, and nowhere if others could write to it',
  async () => {
    const cache = await temporaryFolder();
    const folder = await started(cache);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readdir(folder)).toHaveLength(1);
    const shared = await temporaryFolder();
    await mkdir(join(shared, 'leadstream'));
    await chmod(join(shared, 'leadstream'), 0o777);
    expect(await readdir(await started(shared))).toEqual([]);
  },
);

test('the command starts without a place for compiled code, and without a home folder', async () => {
  await started('/dev/null');
  const unknown = "import os from 'node:os'; os.homedir = () => { throw new Error('ENOENT') };";
  await started('', { HOME: '', NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(unknown)}` });
});

describe('the process', () => {
  test.each([
    [0, ['validate', 'p.yaml']],
    [2, ['rum']],
    [77, ['run', 'p.yaml']],
  ])('exits with %i after %j', async (expected, words) => {
    const [from, cwd] = [await service(undefined, { accounts: [{ restApiKey: 'another' }] }), await workplace(toCsv)];
    expect((await startCli(words, { cwd, env: from.env }).finished).code).toBe(expected);
  });

  test('is asked by an option that Node leaves to it: a missing file of --env is told by us, and its exit code is ours', async () => {
    expect(await startCli(['run', 'p.yaml', '--env', 'nowhere.env'], { cwd: await workplace(toCsv) }).finished).toMatchObject({
      code: 2,
      stderr: 'leadstream: E_USAGE: --env nowhere.env: cannot be read (ENOENT). See `leadstream --help` and the help of the command.\n',
    });
  });

  test('ends with the status of an error that nobody caught', async () => {
    const [cwd, bomb] = [await workplace(toCsv), join(await temporaryFolder(), 'bomb.mjs')];
    const error = "Object.assign(new Error('held'), { code: 'E_RUN_LOCKED', exit: 75, help: 'Wait.' })";
    const throws = `process.on('newListener', (name) => name === 'uncaughtException' && setImmediate(() => { throw ${error}; }))`;
    await writeFile(bomb, `${throws};\n`);
    const { code, stderr } = await startCli(['validate', 'p.yaml'], { cwd, env: { NODE_OPTIONS: `--import ${bomb}` } }).finished;
    expect([code, stderr]).toEqual([75, expect.stringContaining('leadstream: E_RUN_LOCKED: held. Wait.')]);
  });
});
