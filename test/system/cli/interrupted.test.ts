import { on } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { watch } from '../../../src/index.js';
import { cli, startCli } from '../../support/cli.js';
import { service, toCsv, workplace } from '../../support/services.js';

/** Runs a pipeline and stops it when some pages were answered, as Ctrl-C does. */
async function interrupted(from: Awaited<ReturnType<typeof service>>, cwd: string, ...words: readonly string[]) {
  const stop = new AbortController();
  from.requests.splice(0);
  const running = cli(['run', 'p.yaml', ...words], { cwd, env: from.env, signal: stop.signal });
  await from.until((requests) => requests.length >= 5);
  stop.abort();
  return running;
}

/** A service that takes its time, so that a run of twelve pages can be stopped in the middle. */
const slow = () => service(undefined, { faults: ['delay=20'] });

describe('a run that is interrupted', () => {
  test('says how many pages are kept, and the same command does not request them again', async () => {
    const [from, cwd] = [await slow(), await workplace(toCsv)];
    const { code, stderr } = await interrupted(from, cwd, '--set', 'service.concurrency=1');
    expect(code).toBe(130);
    const [, kept] = /^kept (\d+) pages; run the same command to continue$/m.exec(stderr) ?? [];
    expect(Number(kept)).toBeGreaterThanOrEqual(2);
    expect(stderr.trim().split('\n').at(-1)).toBe('leadstream: E_RUN_ABORTED: the run was stopped; nothing was published. Run it again.');
    from.requests.splice(0);
    expect((await cli(['run', 'p.yaml'], { cwd, env: from.env })).code).toBe(0);
    const pages = from.requests.map((request) => Number(/page=(\d+)/.exec(request)?.[1]));
    expect(Math.min(...pages)).toBe(Number(kept) + 1);
  });

  test('publishes nothing either when all rows are written, and goes on without requesting a page again', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const stop = new AbortController();
    const end = watch({ finish: { start: () => stop.abort() } });
    const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env: from.env, signal: stop.signal });
    end();
    expect(code).toBe(130);
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^leadstream: E_RUN_ABORTED: the run was stopped; nothing was published/);
    expect((await readdir(cwd)).toSorted()).toEqual(['.leadstream', 'p.yaml']);
    from.requests.splice(0);
    expect((await cli(['run', 'p.yaml'], { cwd, env: from.env })).code).toBe(0);
    // Only that there is none behind the twelfth.
    const pages = from.requests.map((request) => Number(/page=(\d+)&limit=100/.exec(request)?.[1] ?? Infinity));
    expect(Math.min(...pages)).toBe(13);
  });
});

describe('signals', () => {
  test('that come after the summary change nothing of how the run ends', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    for (const delay of [0, 25]) {
      const { process: child, finished } = startCli(['run', 'p.yaml', '--restart'], { cwd, env: from.env });
      if (child.stderr) for await (const [text] of on(child.stderr, 'data')) if (String(text).includes('->')) break;
      await wait(delay);
      child.kill('SIGINT');
      expect((await finished).code).toBe(0);
    }
  });

  test('that come together, as by a shell and the system, are one', async () => {
    const [from, cwd] = [await slow(), await workplace(toCsv)];
    const { process: child, finished } = startCli(['run', 'p.yaml', '--report', 'r.json'], { cwd, env: from.env });
    await from.until((requests) => requests.length >= 3);
    child.kill('SIGHUP');
    await wait(10);
    child.kill('SIGHUP');
    const { code, stderr } = await finished;
    expect(code).toBe(129);
    expect(stderr).toContain('E_RUN_ABORTED');
    expect(JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8'))).toMatchObject({ status: 'failed', exit: 129 });
  });
});
