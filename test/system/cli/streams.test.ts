import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { start, startCli } from '../../support/cli.js';
import { service, toCsv, toStdout, workplace } from '../../support/services.js';

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
