import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import module from 'node:module';
import { join } from 'node:path';
import { startCli } from '../../support/cli.js';
import { temporaryFolder } from '../../support/temporary.js';

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
