import { describe, expect, test } from '@jest/globals';
import { cli } from '../../support/cli.js';
import { service, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';
import { toCsv, workplace } from './support.js';

const help = 'See `leadstream --help` and the help of the command.';

describe('a command line', () => {
  test.each([[['--help']], [['run', '--help']], [['--version']]])('answers %j with 0', async (parameters) => {
    const { code, stdout } = await cli(parameters, { cwd: await temporaryFolder() });
    expect(code).toBe(0);
    expect(stdout).not.toBe('');
  });

  test.each([[[]], [['rum']], [['run']], [['run', 'p.yaml', '--unknown']], [['fetch', 'leds']], [['run', 'p.yaml', '--set', 'nonsense']]])(
    'answers %j with 2',
    async (parameters) => {
      const { code, stderr } = await cli(parameters, { cwd: await temporaryFolder() });
      expect(code).toBe(2);
      expect(stderr).toContain('leadstream');
    },
  );

  test('accepts no credential as a flag', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const set = await cli(['run', 'p.yaml', '--set', `service.auth.rest_api_key=${testKey}`], { cwd, env: from.env });
    expect(set.code).toBe(78);
    for (const flag of ['--rest-api-key', '--api-key', '--key']) {
      expect((await cli(['run', 'p.yaml', flag, 'x'], { cwd, env: from.env })).code).toBe(2);
    }
  });

  test.each([
    [[], 'name a command.'],
    [['rum'], 'unknown command, did you mean run?'],
    [['run'], 'name a pipeline file, or --finish without one.'],
    [['run', 'p.yaml', '--unknown'], 'unknown option --unknown.'],
    [['run', 'p.yaml', '--set'], 'Not enough arguments following: set.'],
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
