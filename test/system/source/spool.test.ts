import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdir, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { collections } from '../../../src/collections/index.js';
import { openSpool, type Spool, type SpoolOptions } from '../../../src/source/spool/spool.js';
import { accountKey, sweepSpools } from '../../../src/source/index.js';
import { lockOwn } from '../../../src/store/index.js';
import { start } from '../store/support.js';
import { turns } from '../../support/pages.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import type { SpooledSource } from '../../../src/source/spool/folder.js';
import { bodyOf, pagesIn, secret, sourceOf, startFull } from '../../support/spool.js';

const hour = 3_600_000;
const kills = 2;
const text = (body: Uint8Array | undefined) => body && Buffer.from(body).toString();
const bytes = (body: string) => Buffer.from(body);

/** Opens a spool, which is closed at the end of its block. */
async function open(folder: string, changes: Partial<SpoolOptions> = {}): Promise<Spool & AsyncDisposable> {
  const options = { folder: join(folder, 'spool'), source: sourceOf(), runId: 'run-1', maxAgeMs: 6 * hour, ...changes };
  const spool = await openSpool(options);
  return Object.assign(spool, { [Symbol.asyncDispose]: () => spool.close() });
}

/** What an interrupted run leaves: pages 1 to 3. */
async function interrupted(folder: string, changes: Partial<SpoolOptions> = {}): Promise<Spool> {
  const spool = await open(folder, changes);
  for (const page of [1, 2, 3]) await spool.write(page, bytes(`["${page}"]`));
  await spool.close();
  return spool;
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const logOf = (spool: Spool) => join(spool.folder, 'pages.log');

/** Bytes of the record of each page that `interrupted` leaves: 32 of a header, 5 of a body. */
const recordBytes = 37;

/** Changes the log of a spool on disk. */
async function edit(spool: Spool, change: (log: Buffer) => Uint8Array): Promise<void> {
  await writeFile(logOf(spool), change(await readFile(logOf(spool))));
}

/** With some bits of one byte turned. */
function flipped(log: Buffer, at: number, bits: number): Buffer {
  log.writeUInt8(log.readUInt8(at) ^ bits, at);
  return log;
}

/** What pages read back as. */
async function contents(spool: Spool, ...pages: readonly number[]): Promise<readonly (string | undefined)[]> {
  return Promise.all(pages.map(async (page) => text(await spool.read(page))));
}

/** The same after the spool was closed and opened again. */
async function contentsAgain(folder: string, ...pages: readonly number[]): Promise<readonly (string | undefined)[]> {
  const spool = await open(folder);
  const found = await contents(spool, ...pages);
  await spool.close();
  return found;
}

/** Names of the logs below a folder that this process has open. */
async function openLogs(folder: string): Promise<readonly string[]> {
  const links = (await readdir('/proc/self/fd')).map((name) => readlink(join('/proc/self/fd', name)).catch(() => ''));
  return (await Promise.all(links)).filter((name) => name.startsWith(folder) && name.includes('pages.log'));
}

describe('a spool', () => {
  test('lays a page out as number, bytes, checksum and body', async () => {
    const folder = await temporaryFolder();
    await using spool = await open(folder);
    await spool.write(258, bytes('[]'));
    const head = Buffer.from('894c5001' + '02010000' + '02000000' + 'fdffffff', 'hex');
    const sum = createHash('sha256').update(head).update('[]').digest().subarray(0, 16);
    expect((await readFile(logOf(spool))).toString('hex')).toBe(Buffer.concat([head, sum, bytes('[]')]).toString('hex'));
    expect(await readdir(spool.folder)).toEqual(['pages.log', 'started.json']);
  });

  test('replaces a page that spools again', async () => {
    const folder = await temporaryFolder();
    const spool = await open(folder);
    for (const body of ['[1]', '[1]', '[2]']) await spool.write(1, bytes(body));
    expect(await contents(spool, 1)).toEqual(['[2]']);
    await spool.close();
    expect(await contentsAgain(folder, 1)).toEqual(['[2]']);
  });

  test('takes many pages at once, also while others are on their way', async () => {
    const folder = await temporaryFolder();
    const spool = await open(folder);
    const write = (page: number) => spool.write(page, bytes(JSON.stringify('x'.repeat(page * 100))));
    await Promise.all([...range(1, 40).map(write), turns(1).then(() => Promise.all(range(41, 80).map(write)))]);
    await spool.write(81, new Uint8Array());
    await spool.close();

    await using again = await open(folder);
    expect(again).toMatchObject({ resumed: 81, damaged: 0 });
    expect(await contents(again, ...range(1, 81))).toEqual([...range(1, 80).map((page) => JSON.stringify('x'.repeat(page * 100))), '']);
  });

  test('is private, also when its folder was not', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'spool'));
    await using spool = await open(folder);
    await spool.write(1, bytes('[]'));

    for (const name of ['spool', ...(await filesBelow(join(folder, 'spool'))).map((name) => join('spool', name))]) {
      const found = await stat(join(folder, name));
      expect([name, (found.mode & 0o777).toString(8)]).toEqual([name, found.isDirectory() ? '700' : '600']);
    }
  });

  test('shows no credential in a name or a file', async () => {
    const folder = await temporaryFolder();
    await using _spool = await open(folder, { source: sourceOf({ baseUrl: `https://user:${secret}@data.example/v1` }) });
    for (const name of await filesBelow(folder)) {
      expect(name).not.toContain(secret);
      const path = join(folder, name);
      if ((await stat(path)).isFile()) expect(await readFile(path, 'utf8')).not.toContain(secret);
    }
  });

  test('can not be guessed from a credential: its name is another one in every spool folder', async () => {
    const one = await temporaryFolder();
    const two = await temporaryFolder();
    const spools = [await open(one), await open(two)];
    expect(new Set(spools.map(({ folder }) => folder.split('/').at(-1))).size).toBe(2);
    for (const spool of spools) await spool.close();
  });

  test('serves one run at a time', async () => {
    const folder = await temporaryFolder();
    const spool = await open(folder);
    await expect(open(folder, { runId: 'run-2' })).rejects.toMatchObject({
      code: 'E_RUN_LOCKED',
      message: expect.stringMatching(
        /^another run with this state folder reads leads, too: .* is held by run run-1 .*; run them one after the other/,
      ),
    });
    await spool.close();
    await spool.close();
    await (await open(folder)).close();
  });

  test('leaves nothing when it is removed, with all its pages, or closed without one', async () => {
    const folder = await temporaryFolder();
    const spool = await open(folder);
    await spool.write(1, bytes('[]'));
    for (const end of [() => spool.remove(), () => spool.remove(), () => spool.close(), async () => (await open(folder)).close()]) {
      await end();
      expect(await filesBelow(folder)).toEqual(['spool', 'spool/account.key']);
    }
  });

  test('throws pages away when it is cleared, also those on their way, and keeps those that come then', async () => {
    const folder = await temporaryFolder();
    const now = Date.now();
    await interrupted(folder, { now: () => now - hour });
    const spool = await open(folder, { now: () => now });
    await Promise.all([spool.write(4, bodyOf(4)), spool.clear(), spool.write(2, bytes('[]'))]);
    expect(spool).toMatchObject({ resumed: 0, startedAt: new Date(now).toISOString() });
    expect(spool.last()).toBe(2);
    expect(await contents(spool, 1, 2, 4)).toEqual([undefined, '[]', undefined]);
    await spool.close();
    expect(await contentsAgain(folder, 1, 2, 3, 4)).toEqual([undefined, '[]', undefined, undefined]);
  });

  test('waits for pages on their way before it closes, and takes none afterwards', async () => {
    const folder = await temporaryFolder();
    const spool = await open(folder);
    const spooled = spool.write(1, bodyOf(1));
    await spool.close();
    await spooled;
    await expect(spool.write(2, bytes('[]'))).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    await expect(spool.read(1)).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await readdir(spool.folder)).toHaveLength(2);
    expect(await contentsAgain(folder, 1)).toEqual([text(bodyOf(1))]);
  });

  test('keeps no file open once it is closed, removed or could not be opened', async () => {
    const folder = await temporaryFolder();
    for (let turn = 0; turn < 30; turn += 1) {
      const spool = await open(folder);
      await spool.write(1, bytes('[]'));
      expect(await openLogs(folder)).toEqual([logOf(spool)]);
      await (turn % 3 === 0 ? spool.remove() : spool.close());
      expect(await openLogs(folder)).toEqual([]);
    }
    const { folder: source } = await interrupted(folder);
    await rm(join(source, 'started.json'));
    await mkdir(join(source, 'started.json'));
    await expect(open(folder)).rejects.toMatchObject({ code: 'E_SINK_PATH' });
    expect(await openLogs(folder)).toEqual([]);
  });
});

test.each<[string, Partial<SpooledSource>, number]>([
  ['another service', { baseUrl: 'https://data.example/v2' }, 0],
  ['another collection', { collection: collections.users }, 0],
  ['another limit', { limit: 30 }, 0],
  ['another first page', { firstPage: 0 }, 0],
  ['another key', { account: { rest_api_key: 'other' } }, 0],
  ['another form of credentials', { account: { authorized_uid: '7', authorized_rest_api_key: secret } }, 0],
  ['a service with a slash behind it', { baseUrl: 'https://data.example/v1/' }, 3],
  ['a service with its port', { baseUrl: 'https://DATA.example:443/v1' }, 3],
  ['a service with what is not sent', { baseUrl: 'https://user:pw@data.example/v1?x=1' }, 3],
])('the spool of %s has only its own pages', async (_what, change, resumed) => {
  const folder = await temporaryFolder();
  await interrupted(folder);
  const spool = await open(folder, { source: sourceOf(change) });
  expect(spool.resumed).toBe(resumed);
  await spool.close();
  expect(await contentsAgain(folder, 3)).toEqual(['["3"]']);
});

describe('a damaged page is asked for again:', () => {
  test.each([
    ['mark', 0, 4, undefined],
    ['number', 4, 8, '["3"]'],
    ['length', 8, 16, undefined],
    ['checksum', 16, 32, '["3"]'],
    ['body', 32, 37, '["3"]'],
  ])('with a flipped bit in its %s, as are those behind it where their place is unknown', async (_part, from, to, third) => {
    for (const offset of range(from, to - 1)) {
      for (const bit of [0x01, 0x80]) {
        const folder = await temporaryFolder();
        await edit(await interrupted(folder), (log) => flipped(log, recordBytes + offset, bit));
        const spool = await open(folder);
        expect([offset, bit, await contents(spool, 1, 2, 3)]).toEqual([offset, bit, ['["1"]', undefined, third]]);
        if (third !== undefined && from > 4) expect(spool).toMatchObject({ resumed: 3, damaged: 1 });
        await spool.write(2, bytes('[2]'));
        expect(await contents(spool, 2, 3)).toEqual(['[2]', third]);
        await spool.close();
        expect(await contentsAgain(folder, 1, 2, 3)).toEqual(['["1"]', '[2]', third]);
      }
    }
  });

  test.each<[string, (log: Buffer) => Uint8Array]>([
    ['cut short', (log) => log.subarray(0, 2 * recordBytes - 2)],
    ['emptied', () => new Uint8Array()],
    [
      'overwritten with another page',
      (log) => Buffer.concat([log.subarray(0, recordBytes), log.subarray(0, recordBytes), log.subarray(2 * recordBytes)]),
    ],
  ])('%s under a run', async (_how, damage) => {
    const folder = await temporaryFolder();
    await interrupted(folder);
    await using spool = await open(folder);
    await edit(spool, damage);
    expect(await spool.read(2)).toBeUndefined();
    expect(await spool.read(2)).toBeUndefined();
    expect(spool).toMatchObject({ resumed: 3, damaged: 1 });
  });

  test.each([10, 1_000, 0x7fff_fff0, 0xffff_fff0])('that claims to have %i bytes, more than a page may', async (length) => {
    const folder = await temporaryFolder();
    const log = logOf(await interrupted(folder));
    const header = Buffer.alloc(32);
    [0x0150_4c89, 2, length, ~length >>> 0].forEach((word, index) => header.writeUInt32LE(word, 4 * index));
    await appendFile(log, header);
    await truncate(log, 3 * recordBytes + 32 + length);
    const spool = await open(folder, { maxPageBytes: 9 });
    expect(await contents(spool, 1, 2, 2, 3)).toEqual(['["1"]', undefined, undefined, '["3"]']);
    expect(spool).toMatchObject({ resumed: 3, damaged: 1 });
    await spool.write(2, bytes('[2]'));
    expect(await contents(spool, 2)).toEqual(['[2]']);
    await spool.remove();
  });

  test('that is larger than pages may be by now', async () => {
    const folder = await temporaryFolder();
    await interrupted(folder);
    for (const [maxPageBytes, found] of [
      [5, '["2"]'],
      [4, undefined],
    ] as const) {
      await using spool = await open(folder, { maxPageBytes });
      expect(await contents(spool, 2)).toEqual([found]);
    }
  });

  test('the last one, and then it is no longer the last', async () => {
    const folder = await temporaryFolder();
    await edit(await interrupted(folder), (log) => log.fill('!', log.length - 1));
    await using spool = await open(folder);
    expect(spool.last()).toBe(3);
    expect(await spool.read(3)).toBeUndefined();
    expect(spool.last()).toBe(2);
  });

  test('what it replaced does not come back', async () => {
    const folder = await temporaryFolder();
    const earlier = await open(folder);
    for (const body of ['["1"]', '["2"]']) await earlier.write(1, bytes(body));
    await earlier.close();
    await edit(earlier, (log) => log.fill('!', log.length - 1));
    await using spool = await open(folder);
    expect(await contents(spool, 1, 1)).toEqual([undefined, undefined]);
    expect(spool).toMatchObject({ resumed: 1, damaged: 1 });
  });
});

describe('at opening', () => {
  test('a record that a killed run left half-written goes, wherever it was cut', async () => {
    for (const left of range(0, recordBytes - 1)) {
      const folder = await temporaryFolder();
      const killed = await interrupted(folder);
      await truncate(logOf(killed), 2 * recordBytes + left);
      const spool = await open(folder);

      expect([left, spool.resumed, spool.damaged, spool.last()]).toEqual([left, 2, 0, 2]);
      expect([left, (await stat(logOf(spool))).size]).toEqual([left, 2 * recordBytes]);
      expect([left, await contents(spool, 1, 2, 3)]).toEqual([left, ['["1"]', '["2"]', undefined]]);
      for (const page of [4, 3]) await spool.write(page, bytes(`[${page}]`));
      await spool.close();
      expect([left, await contentsAgain(folder, 1, 2, 3, 4)]).toEqual([left, ['["1"]', '["2"]', '[3]', '[4]']]);
    }
  });

  test.each<[string, Uint8Array]>([
    ['zeros', Buffer.alloc(5_000)],
    ['text', bytes('[{"lead_id":"1"}]'.repeat(100))],
    ['a header that promises more than there is', Buffer.from('\x89LP\x01\x04\0\0\0\xff\0\0\0\0\xff\xff\xff'.padEnd(100), 'latin1')],
  ])('%s behind the last record go', async (_what, tail) => {
    const folder = await temporaryFolder();
    await edit(await interrupted(folder), (log) => Buffer.concat([log, tail]));
    const spool = await open(folder);
    expect(spool).toMatchObject({ resumed: 3, damaged: 0 });
    await spool.write(4, bytes('[4]'));
    await spool.close();
    expect(await contentsAgain(folder, 1, 2, 3, 4)).toEqual(['["1"]', '["2"]', '["3"]', '[4]']);
  });

  test('half-written files of a killed run go', async () => {
    const folder = await temporaryFolder();
    const { folder: source } = await interrupted(folder);
    await writeFile(join(source, 'started.json.0a1b2c3d4e5f.tmp'), '[');
    await using spool = await open(folder);
    expect(await readdir(source)).toEqual(['pages.log', 'started.json']);
    expect(spool.resumed).toBe(3);
  });

  test.each([
    ['is a link, not a regular file', (log: string, mine: string) => symlink(mine, log)],
    ['is not a regular file', async (log: string) => void execFileSync('mkfifo', [log])],
  ])('a log that %s is refused and not kept open, and what it leads to stays', async (what, replace) => {
    const folder = await temporaryFolder();
    const [log, mine] = [logOf(await interrupted(folder)), join(folder, 'mine.txt')];
    await rm(log);
    await writeFile(mine, 'mine');
    await replace(log, mine);
    await expect(open(folder)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN', message: `${log} ${what}` });
    expect(await openLogs(folder)).toEqual([]);
    expect(await readFile(mine, 'utf8')).toBe('mine');
  });

  test.each<[string, Partial<SpoolOptions>, string | undefined]>([
    ['too old', { now: () => Date.now() + 7 * hour }, undefined],
    ['from the future', { now: () => Date.now() - 7 * hour }, undefined],
    ['unwanted', { restart: true }, undefined],
    ['of unknown age', {}, ''],
    ['of an age that is none', {}, '{"startedAt":"yesterday","maxAgeMs":1}'],
  ])('pages are removed when they are %s', async (_why, changes, marker) => {
    const folder = await temporaryFolder();
    const { folder: source } = await interrupted(folder);
    if (marker !== undefined) await writeFile(join(source, 'started.json'), marker);
    await using spool = await open(folder, changes);
    expect(spool.resumed).toBe(0);
    expect(await readdir(spool.folder)).toEqual(['pages.log', 'started.json']);
    expect((await stat(logOf(spool))).size).toBe(0);
  });

  test('pages age from the first run on, however often they are resumed', async () => {
    const folder = await temporaryFolder();
    const begin = Date.now();
    await interrupted(folder, { now: () => begin });
    for (const [hours, resumed, since] of [
      [4, 3, 0],
      [5, 3, 0],
      [7, 0, 7],
    ] as const) {
      await using spool = await open(folder, { now: () => begin + hours * hour });
      expect(spool).toMatchObject({ resumed, startedAt: new Date(begin + since * hour).toISOString() });
    }
  });

  test('a folder that cannot be written is told, with the option that chooses another', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    await expect(open(join(folder, 'file/state'))).rejects.toMatchObject({
      name: 'SinkError',
      code: 'E_SINK_PATH',
      message: expect.stringMatching(new RegExp(`${folder}/file/state/spool.*: ENOTDIR: .*; choose another place with --state-dir$`)),
    });
  });
});

test('pages that cannot be written name page, folder and option, and do not harm those before and after', async () => {
  const folder = await temporaryFolder();
  const spools = join(folder, 'spool');
  const told = await startFull(spools);
  const log = join(told.folder, 'pages.log');
  expect(told.failed.map(({ message }) => message)).toEqual(
    told.failed.map(
      ({ page }) => `cannot spool page ${page} in ${told.folder}: EFBIG: file too large; choose another place with --state-dir`,
    ),
  );
  expect(told.failed.length).toBeGreaterThan(0);
  expect(told.spooled.length).toBeGreaterThan(told.failed.length);
  // The last page spooled behind the failure, so nothing of the failed ones is left in front of it or behind.
  expect(told.spooled.at(-1)).toBeGreaterThan(told.failed.at(-1)?.page ?? Infinity);
  expect(await pagesIn(log)).toEqual(told.spooled);
  expect((await stat(log)).size).toBe(told.bytes);

  await using spool = await open(folder);
  expect(spool).toMatchObject({ resumed: told.spooled.length });
  for (const page of told.spooled) expect([page, (await spool.read(page))?.length]).toEqual([page, expect.any(Number)]);
  expect(spool.damaged).toBe(0);
});

describe('accountKey', () => {
  test('is the same for all runs that begin at the same time', async () => {
    for (const _ of range(1, 20)) {
      const folder = await temporaryFolder();
      const keys = await Promise.all(range(0, 8).map((ms) => wait(ms).then(() => accountKey(folder))));
      expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
    }
  });
});

describe('sweepSpools', () => {
  const later = () => Date.now() + 7 * hour;

  test('does not keep another run of the same command from its list', async () => {
    const folder = await temporaryFolder();
    const old = await interrupted(folder);
    const sweeping = await lockOwn(old.folder, { runId: 'sweep-1' });
    setTimeout(() => void sweeping.release(), 60);
    await using spool = await open(folder);
    expect(spool.resumed).toBe(3);
  });

  test('removes what is too old, by the age that the run gave it', async () => {
    const folder = await temporaryFolder();
    const spools = join(folder, 'spool');
    const old = await interrupted(folder);
    const kept = await interrupted(folder, { source: sourceOf({ collection: collections.users }), maxAgeMs: 24 * hour });
    expect(await sweepSpools(spools)).toEqual([]);
    expect(await sweepSpools(spools, later)).toEqual([old.folder.slice(spools.length + 1)]);
    expect((await readdir(spools)).sort()).toEqual(['account.key', kept.folder.slice(spools.length + 1)]);
  });

  test('removes nothing that is not ours', async () => {
    const folder = await temporaryFolder();
    const spools = join(folder, 'spool');
    const { folder: source } = await interrupted(folder);
    await writeFile(join(source, 'mine.txt'), '');
    await mkdir(join(spools, 'leads-mine'));
    await symlink(folder, join(spools, `leads-${'0'.repeat(32)}`));
    await sweepSpools(spools, later);
    expect((await readdir(spools)).sort()).toHaveLength(4);
    expect(await readdir(source)).toEqual(['mine.txt']);
  });

  test('leaves a spool in use alone', async () => {
    const folder = await temporaryFolder();
    await using spool = await open(folder);
    await spool.write(1, bytes('[]'));
    expect(await sweepSpools(join(folder, 'spool'), later)).toEqual([]);
    expect(await readdir(spool.folder)).toHaveLength(2);
  });

  test('does nothing where there is no spool', async () => {
    const folder = await temporaryFolder();
    expect(await sweepSpools(join(folder, 'spool'))).toEqual([]);
    expect(await filesBelow(folder)).toEqual([]);
  });
});

test('killed at any moment, a run finds every page that it was told had spooled', async () => {
  const folder = await temporaryFolder();
  const spools = join(folder, 'spool');
  const spooled = new Set<number>();
  for (let kill = 0; kill < kills; kill += 1) {
    const child = start('test/support/spool-child.ts', [spools, String(1 + Math.max(0, ...spooled))]);
    const enough = spooled.size + 3 + 7 * kill;
    const gone = once(child, 'exit');
    child.on('message', (told: { page?: number }) => {
      if (told.page !== undefined) spooled.add(told.page);
      if (spooled.size >= enough) child.kill('SIGKILL');
    });
    await gone;
  }
  const spool = await open(folder);

  for (const page of spooled) expect([page, text(await spool.read(page))]).toEqual([page, text(bodyOf(page))]);
  expect(spool.damaged).toBe(0);
  expect((await readdir(spool.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  await spool.remove();
  expect(await filesBelow(folder)).toEqual(['spool', 'spool/account.key']);
});
