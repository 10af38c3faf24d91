import { cp, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { generate } from '../../../src/service/index.js';
import { start, startCli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A command line that ended well, with what it has compiled in a folder. */
async function done(words: readonly string[], cache: string, env: Readonly<Record<string, string>> = {}, cwd = cache): Promise<void> {
  const { code, stderr } = await startCli(words, { cwd, env: { XDG_CACHE_HOME: cache, ...env } }).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** The one file that a verb keeps. */
async function keptBy(verb: string, cache: string): Promise<string> {
  const folder = join(cache, 'leadstream', verb);
  const [file, ...others] = await readdir(folder);
  expect(others).toEqual([]);
  return join(folder, String(file));
}

describe('what was compiled', () => {
  test('is kept by a command that went well, for that verb, and serves the next', async () => {
    const cache = await temporaryFolder();
    await done(['schema'], cache);
    const kept = await keptBy('schema', cache);
    const { ino, size, mode } = await stat(kept);
    expect({ mode: mode & 0o777, isLarge: size > 500_000 }).toEqual({ mode: 0o600, isLarge: true });
    // V8 says of what it cannot use that it rejects it, and then it is kept anew.
    await done(['schema'], cache);
    expect(await stat(kept)).toMatchObject({ ino, size });
    await done(['--version'], cache);
    expect(await readdir(join(cache, 'leadstream'))).toEqual(['other', 'schema']);
  });

  test.each([
    ['of which a bit is wrong', (bytes: Buffer) => bytes.fill((bytes[60_000] ?? 0) ^ 1, 60_000, 60_001)],
    ['that was cut off', (bytes: Buffer) => bytes.subarray(0, 50_000)],
    ['that is empty', () => Buffer.alloc(0)],
  ])('is compiled again in the place of a file %s', async (_what, damage) => {
    const cache = await temporaryFolder();
    await done(['schema'], cache);
    const kept = await keptBy('schema', cache);
    const whole = await readFile(kept);
    await writeFile(kept, damage(Buffer.from(whole)));
    await done(['schema'], cache);
    expect((await readFile(kept)).length).toBeGreaterThan(whole.length / 2);
    const { ino } = await stat(kept);
    await done(['schema'], cache);
    expect(await stat(kept)).toMatchObject({ ino });
  });

  test('is kept by the thread that fetches, too', async () => {
    const [cache, from] = [await temporaryFolder(), await service(generate({ leads: 250 }), { faults: ['delay=60'] })];
    const chain = 'from: leads\nto:\n  - csv: { path: leads.csv }\n';
    await writeFile(join(cache, 'p.yaml'), pipelineText(chain).replace('  limit: 100', '  limit: 100\n  threads: 1'));
    const kept = async () => {
      await done(['run', 'p.yaml', '--quiet'], cache, from.env);
      const folder = join(cache, 'leadstream', 'run');
      const names = (await readdir(folder)).toSorted();
      return Promise.all(names.map(async (name) => [name.replace(/-.*/, ''), (await stat(join(folder, name))).ino]));
    };
    const first = await kept();
    expect(first).toEqual([
      ['command.cjs', expect.anything()],
      ['fetching.cjs', expect.anything()],
    ]);
    expect(await kept()).toEqual(first);
  });

  test('is compiled again under other flags of V8', async () => {
    const cache = await temporaryFolder();
    await done(['schema'], cache);
    const kept = await keptBy('schema', cache);
    const { ino } = await stat(kept);
    // Since Node 24, V8 accepts what was compiled under other limits of memory.
    await done(['schema'], cache, { NODE_OPTIONS: '--stack-trace-limit=33' });
    expect((await stat(kept)).ino).not.toBe(ino);
  });

  test('is not kept by a command that failed, where nobody may, and where there is no folder for such things', async () => {
    const cache = await temporaryFolder();
    expect(await startCli(['validate', 'missing.yaml'], { cwd: cache, env: { XDG_CACHE_HOME: cache } }).finished).toMatchObject({
      code: 78,
    });
    await done(['schema'], cache, { NODE_DISABLE_COMPILE_CACHE: '1' });
    expect(await readdir(cache)).toEqual([]);
    await done(['schema'], join(cache, 'nowhere'), {}, cache);
    await done(['schema'], '/dev/null', {}, cache);
    expect(await readdir(cache)).toEqual([]);
  });

  test('is kept below the folder of Node’s own cache, if that is named', async () => {
    const cache = await temporaryFolder();
    await done(['schema'], join(cache, 'nowhere'), { NODE_COMPILE_CACHE: cache }, cache);
    expect(await readdir(join(cache, 'leadstream', 'schema'))).toHaveLength(1);
  });

  test('is not used for another text of the same length', async () => {
    const cache = await temporaryFolder();
    for (const file of ['cli/main.cjs', 'command.cjs', 'zod.cjs']) await cp(join('dist', file), join(cache, 'dist', file));
    const printed = async () => {
      const started = start(process.execPath, ['dist/cli/main.cjs', '--version'], { cwd: cache, env: { XDG_CACHE_HOME: cache } });
      return (await started.finished).stdout;
    };
    expect([await printed(), await printed()]).toEqual(['0.1.0\n', '0.1.0\n']);
    const script = join(cache, 'dist', 'command.cjs');
    await writeFile(script, (await readFile(script, 'utf8')).replaceAll('"0.1.0"', '"0.1.9"'));
    expect(await printed()).toBe('0.1.9\n');
  });

  test('is not needed by a user without a home folder', async () => {
    const cwd = await temporaryFolder();
    const unknown = "import os from 'node:os'; os.homedir = () => { throw new Error('ENOENT') };";
    const env = { HOME: '', NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(unknown)}` };
    expect(await startCli(['--version'], { cwd, env }).finished).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
  });
});
