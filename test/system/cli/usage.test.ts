import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { service, testKey, toCsv, workplace } from '../../support/services.js';
import { folderWith, temporaryFolder } from '../../support/temporary.js';

const commands =
  'init, run, validate, doctor, explain, explain-row, preview, test, fetch, verify, rollback, compact, runs, files, serve, schema, demo';
const help = 'See `leadstream --help` and the help of the command.';

describe('a command line', () => {
  test.each([[['--help']], [['run', '-h']], [['help']], [['-v']], [['--quiet', 'run', '--help']]])(
    'answers %j with 0',
    async (parameters) => {
      const { code, stdout } = await cli(parameters, { cwd: await temporaryFolder() });
      expect(code).toBe(0);
      expect(stdout).not.toBe('');
    },
  );

  test('is answered with the help of everything when it says nothing, on stderr and with 2', async () => {
    const cwd = await temporaryFolder();
    const { code, stdout, stderr } = await cli([], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe((await cli(['--help'], { cwd })).stdout);
  });

  test.each(commands.split(', '))('shows by help %s how it is used', async (name) => {
    const { code, stdout } = await cli(['help', name], { cwd: await temporaryFolder() });
    const usage = expect.stringMatching(new RegExp(`^leadstream ${name}\\b[^]*\\nExamples:\\n.*leadstream ${name}\\b`));
    expect({ code, stdout }).toEqual({ code: 0, stdout: usage });
  });

  test('takes no file of --env with a line that is not NAME=value', async () => {
    const cwd = await workplace(toCsv);
    await writeFile(join(cwd, 'v.env'), 'KEY: value\nB=2\n');
    const { code, stderr } = await cli(['validate', 'p.yaml', '--env', 'v.env'], { cwd });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--env v.env: a line is not NAME=value') });
  });

  test('takes a file of --env with a byte order mark, comments, blank lines, export and quotes', async () => {
    const cwd = await workplace(toCsv);
    const lines = [
      "OTHER='of #several",
      "lines=1'",
      '',
      '  # comment',
      'export LEADSTREAM_BASE_URL=http://127.0.0.1:1 # here',
      'LEADSTREAM_REST_API_KEY=a-key-of-tests',
      'EMPTY=',
    ];
    await writeFile(join(cwd, 'v.env'), `\uFEFF${lines.join('\r\n')}`);
    expect(await cli(['validate', 'p.yaml', '--env', 'v.env'], { cwd })).toMatchObject({ code: 0 });
  });

  test('accepts no credential as a flag', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const set = await cli(['run', 'p.yaml', '--set', `service.auth.rest_api_key=${testKey}`], { cwd, env: from.env });
    expect(set.code).toBe(78);
    for (const flag of ['--rest-api-key', '--api-key', '--key']) {
      expect((await cli(['run', 'p.yaml', flag, 'x'], { cwd, env: from.env })).code).toBe(2);
    }
  });

  test.each([
    [['run', 'p.yaml', '--allow-shrink=1'], '--allow-shrink takes no value.'],
    [['run', 'p.yaml', '--state-dir', ''], '--state-dir needs a value.'],
    [['run', 'p.yaml', '--set', 'service.limit=1', '--set', 'service.limit=2'], '--set service.limit is given twice.'],
    [['run', 'p.yaml', '--log_level', 'warn'], 'unknown option --log_level.'],
    [['rum'], 'unknown command, or too many arguments.'],
    [['run', 'a.yaml', '--', 'b.yaml'], 'nothing after -- is read.'],
    [['--log-format', 'xml', 'run', 'a.yaml'], 'log-format must be one of "text", "json".'],
    [['fetch', 'leds'], 'collection must be one of "leads", "bridges", "areacodes", "links", "users".'],
  ])('is told what is wrong with %j in clean sentences', async (parameters, sentence) => {
    const { code, stderr } = await cli(parameters, { cwd: await temporaryFolder(), env: { LANG: 'de_DE.UTF-8' } });
    expect({ code, stderr }).toEqual({ code: 2, stderr: `leadstream: E_USAGE: ${sentence} ${help}\n` });
  });

  test.each([[[testKey]], [['run', 'p.yaml', testKey]], [['fetch', testKey]], [['run', 'p.yaml', '--key', testKey]]])(
    'is not repeated: what was typed by mistake in %j may be a key',
    async (parameters) => {
      const { code, stderr } = await cli(parameters, { cwd: await temporaryFolder() });
      expect(code).toBe(2);
      expect(stderr).not.toContain(testKey.slice(0, 3));
    },
  );

  test.each([[['--log-format', 'json']], [['--log-format=json']]])('is answered as JSON when it says %j', async (format) => {
    const { code, stderr } = await cli(['run', ...format], { cwd: await temporaryFolder() });
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ level: 'error', code: 'E_USAGE', exit: 2, help });
  });
});

test.each([
  [0o666, 2],
  [0o602, 2],
  [0o600, 0],
  [0o644, 0],
])('a file for --env with the mode %o ends with %i: whoever writes there could lead the key elsewhere', async (mode, expected) => {
  const cwd = await folderWith({
    'p.yaml': 'name: p\nfrom: users\nto:\n  - csv: { path: p.csv }\n',
    'x.env': 'LEADSTREAM_BASE_URL=http://127.0.0.1:9\n',
  });
  await chmod(join(cwd, 'x.env'), mode);
  const { code, stderr } = await cli(['validate', 'p.yaml', '--env', 'x.env'], { cwd });
  expect(code).toBe(expected);
  expect(stderr.includes('everyone can write to it; make it private (chmod 600)')).toBe(expected === 2);
});

test('a pipe for --env is read whatever its mode is, which says nothing of who wrote what comes', async () => {
  const cwd = await folderWith({
    'p.yaml': 'name: p\nfrom: users\nto:\n  - csv: { path: p.csv }\n',
    'x.env': 'LEADSTREAM_BASE_URL=http://127.0.0.1:9\nLEADSTREAM_REST_API_KEY=a-key-of-nobody\n',
  });
  execFileSync('sh', ['-c', 'mkfifo pipe && chmod 666 pipe'], { cwd });
  const written = once(spawn('sh', ['-c', 'cat x.env > pipe'], { cwd }), 'exit');
  expect(await cli(['validate', 'p.yaml', '--env-check', '--env', 'pipe'], { cwd })).toMatchObject({ code: 0 });
  await written;
});
