import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { lockOutputs } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { until } from '../../support/until.js';
import { lockPath, plantLock, Runner } from './support.js';

const run = { runId: 'run-1' };
const locked = { code: 'E_RUN_LOCKED', exit: 75, retry: true };

/** What the lock file of this process says. */
async function ownHolder(folder: string): Promise<Record<string, unknown>> {
  const lock = await lockOutputs([join(folder, 'own')], run);
  const text = await readFile(join(folder, '.own.lock'), 'utf8');
  await lock.release();
  return JSON.parse(text) as Record<string, unknown>;
}

/** Waits until the owner of a lock shows that it lives. */
async function signOfLife(output: string): Promise<void> {
  await utimes(lockPath(output), 0, 0);
  await until(async () => (await stat(lockPath(output))).mtimeMs > 0);
}

describe('lockOutputs', () => {
  test('puts a hidden file beside each output and removes it on release', async () => {
    const folder = await temporaryFolder();
    const lock = await lockOutputs([join(folder, 'b.csv'), join(folder, 'a')], run);
    expect(await filesBelow(folder)).toEqual(['.a.lock', '.b.csv.lock']);

    await lock.release();
    await lock.release();
    expect(await filesBelow(folder)).toEqual([]);
  });

  test('says in the file who holds it', async () => {
    const folder = await temporaryFolder();
    expect(await ownHolder(folder)).toMatchObject({
      run: 'run-1',
      host: hostname(),
      pid: process.pid,
      started: expect.stringMatching(/^\d+$/),
      since: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test('refuses a second run, also of this process, and names output, host, process and time', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a.csv');
    const lock = await lockOutputs([output], run);
    await expect(lockOutputs([output], { runId: 'run-2' })).rejects.toMatchObject({
      ...locked,
      message: expect.stringMatching(
        new RegExp(`^${output} is held by run run-1 \\(host ${hostname()}, process ${process.pid}\\) since 2`),
      ),
    });
    await lock.release();
    await (await lockOutputs([output], run)).release();
  });

  test('gives back what it had when another output is locked', async () => {
    const folder = await temporaryFolder();
    const [a, b] = [join(folder, 'a'), join(folder, 'b')];
    const lock = await lockOutputs([b], run);
    await expect(lockOutputs([b, a], run)).rejects.toMatchObject({ code: 'E_RUN_LOCKED', message: expect.stringContaining(b) });
    expect(await filesBelow(folder)).toEqual(['.b.lock']);
    await lock.release();
  });

  test('locks an output that is named twice once', async () => {
    const folder = await temporaryFolder();
    const lock = await lockOutputs([join(folder, 'a'), join(folder, 'x/../a')], run);
    await lock.release();
    expect(await filesBelow(folder)).toEqual([]);
  });

  test('makes missing folders, and gives them back unless something was published', async () => {
    const folder = await temporaryFolder();
    const [a, b] = [join(folder, 'lake/x/a'), join(folder, 'out/b')];
    const lock = await lockOutputs([a, b], run);
    await writeFile(b, '');
    await lock.release();
    expect(await filesBelow(folder)).toEqual(['out', 'out/b']);
  });

  test('names the path when no lock can be written', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, '.a.lock'));
    await expect(lockOutputs([join(folder, 'a')], run)).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: `cannot lock ${folder}/a: ${folder}/.a.lock is not a regular file`,
    });
  });

  test('gives signs of life', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    const lock = await lockOutputs([output], { ...run, heartbeatMs: 10 });
    await signOfLife(output);
    await lock.release();
  });
});

describe('a lock', () => {
  test('knows whether it was lost, and then neither removes nor prolongs that of another run', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    const lock = await lockOutputs([output], { ...run, heartbeatMs: 10 });
    // Its clock is as fast and began later: when it has struck, that of the first has.
    const later = await lockOutputs([join(folder, 'b')], { ...run, heartbeatMs: 10 });
    await lock.check();
    await rm(lockPath(output));
    await expect(lock.check()).rejects.toMatchObject({ code: 'E_RUN_LOCKED', message: expect.stringContaining('was removed') });
    await plantLock(output, { host: 'elsewhere' }, 30_000);
    await expect(lock.check()).rejects.toMatchObject({ code: 'E_RUN_LOCKED', message: expect.stringContaining('elsewhere') });
    const planted = await stat(lockPath(output));
    await signOfLife(join(folder, 'b'));
    await signOfLife(join(folder, 'b'));
    await lock.release();

    expect(await filesBelow(folder)).toEqual(['.a.lock', '.b.lock']);
    expect((await stat(lockPath(output))).mtimeMs).toBe(planted.mtimeMs);
    await later.release();
  });
});

describe('a lock of another run', () => {
  test.each([
    ['on another host is kept while it gives signs of life', { host: 'elsewhere' }, 50_000, false],
    ['on another host is taken over after a minute without', { host: 'elsewhere' }, 70_000, true],
    ['in another container with our host name is kept while it gives signs of life', { space: 'other' }, 50_000, false],
    ['in another container with our host name is taken over after a minute without', { space: 'other' }, 70_000, true],
    ['of a process that lives here is kept, however silent', {}, 3_600_000, false],
    ['of a process whose number was used again is taken over at once', { started: '1' }, 0, true],
    ['of a process that is gone is taken over at once', { pid: 2 ** 22 + 1 }, 0, true],
    ['of a process of unknown start is kept while it gives signs of life', { started: null }, 50_000, false],
    ['of a process of unknown start is taken over after a minute without', { started: null }, 70_000, true],
    ['of another host is kept by signs of life that are seconds ahead', { host: 'elsewhere' }, -30_000, false],
    ['of another host is taken over when they are more than a minute ahead', { host: 'elsewhere' }, -3_600_000, true],
  ])('%s', async (_behaviour, changes, silentMs, taken) => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    await plantLock(output, { ...(await ownHolder(folder)), ...changes }, silentMs);
    const taking = lockOutputs([output], run);
    if (!taken) return await expect(taking).rejects.toMatchObject(locked);
    await (await taking).release();
    expect(await filesBelow(folder)).toEqual([]);
  });

  test.each(['', '{"pid":', 'of another program', '{}', '12345'])(
    'that reads %j is that of an unknown run while it is young',
    async (text) => {
      const folder = await temporaryFolder();
      const output = join(folder, 'a');
      await writeFile(lockPath(output), text);
      await silence(lockPath(output), 50_000);
      const message = expect.stringContaining('an unknown run');
      await expect(lockOutputs([output], run)).rejects.toMatchObject({ ...locked, message });
      expect(await readFile(lockPath(output), 'utf8')).toBe(text);
    },
  );

  test.each(['', '{"pid":', 'of another program', '{}', '12345'])('that reads %j and is old is none of ours, and stays', async (text) => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    const names = ['.a.lock', '.a.lock-mine.lock', '.a.lock-aaaaaaaaaaaaaaaa.lock.bak', '.a.lock-.lock'];
    for (const name of names) {
      await writeFile(join(folder, name), text);
      await silence(join(folder, name), 3_600_000);
    }
    await expect(lockOutputs([output], run)).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining(`${lockPath(output)} exists, but is not a lock made by leadstream`),
    });
    expect((await readdir(folder)).sort()).toEqual(names.toSorted());
    expect(await readFile(lockPath(output), 'utf8')).toBe(text);
  });

  test('is tidied up only where it has a name that takers give, and is one or empty', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    const dead = JSON.stringify({ ...(await ownHolder(folder)), pid: 2 ** 22 + 1 });
    const [ours, others] = [
      [
        ['.a.lock-aaaaaaaaaaaaaaaa.lock', dead],
        ['.a.lock-aaaaaaaaaaaaaaaa.lock-bbbbbbbbbbbbbbbb.lock', ''],
      ],
      [
        ['.a.lock-cccccccccccccccc.lock', 'mine'],
        ['.a.lock-mine.lock', dead],
        ['.a.lock-old.lock', ''],
      ],
    ] as const;
    for (const [name, text] of [...ours, ...others]) {
      await writeFile(join(folder, name), text);
      await silence(join(folder, name), 3_600_000);
    }
    await (await lockOutputs([output], run)).release();
    expect((await readdir(folder)).sort()).toEqual(others.map(([name]) => name).sort());
  });

  test('that died while it took over is taken over too, and leaves nothing', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'a');
    const dead = { ...(await ownHolder(folder)), pid: 2 ** 22 + 1 };
    const [x, y, z] = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb', 'cccccccccccccccc'];
    await plantLock(output, { ...dead, id: x });
    for (const [name, id] of [
      [`.a.lock-${x}.lock`, y],
      [`.a.lock-${x}.lock-${y}.lock`, z],
      ['.a.lock-dddddddddddddddd.lock', z],
    ] as const)
      await writeFile(join(folder, name), JSON.stringify({ ...dead, id }));
    const lock = await lockOutputs([output], run);

    expect(await readdir(folder)).toEqual(['.a.lock']);
    await lock.release();
  });
});

describe('of several processes', () => {
  const rounds = 20;
  const runners: Runner[] = [];
  beforeAll(async () => {
    runners.push(...(await Promise.all([1, 2, 3, 4].map(() => Runner.start()))));
  });
  afterAll(async () => {
    await Promise.all(runners.map((runner) => runner.kill()));
  });

  /** Lets processes go for a lock at the same moment. */
  async function race(racers: readonly Runner[], output: string): Promise<readonly string[]> {
    const at = Date.now() + 15;
    const results = await Promise.all(racers.map((runner) => runner.lock(output, at)));
    expect(existsSync(lockPath(output))).toBe(true);
    await Promise.all(racers.map((runner) => runner.release()));
    return results.map((result) => result.split(' ', 1)[0] ?? '').sort();
  }

  test(`one gets a free lock, ${rounds} times`, async () => {
    const folder = await temporaryFolder();
    for (let round = 0; round < rounds; round += 1)
      expect(await race(runners.slice(0, 2), join(folder, `new-${round}/a`))).toEqual(['E_RUN_LOCKED', 'won']);
    expect((await filesBelow(folder)).filter((name) => name.includes('.lock'))).toEqual([]);
  });

  test(`one takes over the lock of a dead run, ${rounds} times`, async () => {
    const folder = await temporaryFolder();
    const dead = { ...(await ownHolder(folder)), pid: 2 ** 22 + 1 };
    for (let round = 0; round < rounds; round += 1) {
      const output = join(folder, `a-${round}`);
      await plantLock(output, dead);
      expect(await race(runners, output)).toEqual(['E_RUN_LOCKED', 'E_RUN_LOCKED', 'E_RUN_LOCKED', 'won']);
    }
    expect(await filesBelow(folder)).toEqual([]);
  });

  test(`one takes over after two died in the middle, ${rounds} times`, async () => {
    const folder = await temporaryFolder();
    const dead = { ...(await ownHolder(folder)), pid: 2 ** 22 + 1 };
    const [x, y] = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb'];
    for (let round = 0; round < rounds; round += 1) {
      const output = join(folder, `a-${round}`);
      await plantLock(output, { ...dead, id: x });
      await writeFile(join(folder, `.a-${round}.lock-${x}.lock`), JSON.stringify({ ...dead, id: y }));
      expect(await race(runners, output)).toEqual(['E_RUN_LOCKED', 'E_RUN_LOCKED', 'E_RUN_LOCKED', 'won']);
    }
    expect(await filesBelow(folder)).toEqual([]);
  });

  test('a killed one is followed at once', async () => {
    const folder = await temporaryFolder();
    await using victim = await Runner.start();
    const output = join(folder, 'a');
    expect(await victim.lock(output)).toBe('won');
    await expect(lockOutputs([output], run)).rejects.toMatchObject({
      ...locked,
      message: expect.stringContaining(`process ${victim.child.pid}`),
    });
    await victim.kill();
    await (await lockOutputs([output], run)).release();
    expect(await filesBelow(folder)).toEqual([]);
  });
});

/** Gives a file a time of its last change that is so long ago. */
async function silence(path: string, ms: number): Promise<void> {
  const then = new Date(Date.now() - ms);
  await utimes(path, then, then);
}
