import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openLanding, sweepLandings, type Landing, type LandingOptions } from '../../src/landing/index.js';
import { start } from '../files/support.js';
import { filesBelow, temporaryFolder } from '../sinks/support.js';
import { bodyOf, secret, sourceOf } from './support.js';

const hour = 3_600_000;
const text = (body: Uint8Array | undefined) => body && Buffer.from(body).toString();
const bytes = (body: string) => Buffer.from(body);

function open(folder: string, changes: Partial<LandingOptions> = {}): Promise<Landing> {
  return openLanding({ folder: join(folder, 'landing'), source: sourceOf(), runId: 'run-1', maxAgeMs: 6 * hour, ...changes });
}

/** What an interrupted run leaves: pages 1 to 3. */
async function interrupted(folder: string, changes: Partial<LandingOptions> = {}): Promise<Landing> {
  const landing = await open(folder, changes);
  for (const page of [1, 2, 3]) await landing.land(page, bytes(`["${page}"]`));
  await landing.close();
  return landing;
}

async function pageFile(landing: Landing, page: number): Promise<string> {
  const name = (await readdir(landing.folder)).find((name) => name.startsWith(`page-000000${page}.`));
  return join(landing.folder, name ?? 'missing');
}

describe('a landing', () => {
  test('gives an interrupted run its pages back', async () => {
    await using folder = await temporaryFolder();
    const first = await interrupted(folder.path, { now: () => Date.now() - hour });
    const landing = await open(folder.path);

    expect(landing).toMatchObject({ resumed: 3, damaged: 0, startedAt: first.startedAt });
    expect(landing.last()).toBe(3);
    expect(text(await landing.read(2))).toBe('["2"]');
    expect(await landing.read(4)).toBeUndefined();
    await landing.close();
  });

  test('names a page file by number, bytes and checksum', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    await landing.land(12, bytes('[]'));
    expect(await readdir(landing.folder)).toEqual(['page-0000012.2.4f53cda18c2baa0c0354bb5f9a3ecbe5.json', 'started.json']);
    await landing.close();
  });

  test('replaces a page that lands again', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    for (const body of ['[1]', '[1]', '[2]']) await landing.land(1, bytes(body));
    expect(text(await landing.read(1))).toBe('[2]');
    expect(await readdir(landing.folder)).toHaveLength(2);
    await landing.close();
  });

  test('is private, also when its folder was not', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'landing'));
    const landing = await open(folder.path);
    await landing.land(1, bytes('[]'));

    for (const name of ['landing', ...(await filesBelow(join(folder.path, 'landing'))).map((name) => join('landing', name))]) {
      const found = await stat(join(folder.path, name));
      expect([name, (found.mode & 0o777).toString(8)]).toEqual([name, found.isDirectory() ? '700' : '600']);
    }
    await landing.close();
  });

  test('shows no credential in a name or a file', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path, { source: sourceOf({ baseUrl: `https://user:${secret}@data.example/v1` }) });
    for (const name of await filesBelow(folder.path)) {
      expect(name).not.toContain(secret);
      const path = join(folder.path, name);
      if ((await stat(path)).isFile()) expect(await readFile(path, 'utf8')).not.toContain(secret);
    }
    await landing.close();
  });

  test('can not be guessed from a credential: its name is another one in every landing folder', async () => {
    await using one = await temporaryFolder();
    await using two = await temporaryFolder();
    const landings = [await open(one.path), await open(two.path)];
    expect(new Set(landings.map(({ folder }) => folder.split('/').at(-1))).size).toBe(2);
    for (const landing of landings) await landing.close();
  });

  test('serves one run at a time', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    await expect(open(folder.path, { runId: 'run-2' })).rejects.toMatchObject({
      code: 'E_RUN_LOCKED',
      message: expect.stringContaining('run run-1'),
    });
    await landing.close();
    await landing.close();
    await (await open(folder.path)).close();
  });

  test('is removed with all its pages, and then free', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    await landing.land(1, bytes('[]'));
    await landing.remove();
    await landing.remove();
    await landing.close();
    expect(await filesBelow(folder.path)).toEqual(['landing', 'landing/account.key']);
  });

  test('leaves nothing when no page landed', async () => {
    await using folder = await temporaryFolder();
    await (await open(folder.path)).close();
    expect(await filesBelow(folder.path)).toEqual(['landing', 'landing/account.key']);
  });

  test('goes on with none after clear', async () => {
    await using folder = await temporaryFolder();
    await interrupted(folder.path, { now: () => Date.now() - hour });
    const landing = await open(folder.path);
    await landing.clear();
    expect(landing.resumed).toBe(0);
    expect(landing.last()).toBeUndefined();
    expect(Date.now() - Date.parse(landing.startedAt)).toBeLessThan(60_000);
    await landing.land(1, bytes('[]'));
    await landing.close();
    expect(await open(folder.path).then(async (again) => (await again.close(), again.resumed))).toBe(1);
  });

  test('waits for pages on their way before it closes, and takes none afterwards', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    const landed = landing.land(1, bodyOf(1));
    await landing.close();
    await landed;
    await expect(landing.land(2, bytes('[]'))).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await readdir(landing.folder)).toHaveLength(2);
  });
});

describe('is another landing with another', () => {
  test.each([
    ['service', { baseUrl: 'https://data.example/v2' }],
    ['collection', { collection: 'users' }],
    ['limit', { limit: 30 }],
    ['first page', { firstPage: 0 }],
    ['key', { account: { rest_api_key: 'other' } }],
    ['form of credentials', { account: { authorized_uid: '7', authorized_rest_api_key: secret } }],
  ] as const)('%s', async (_what, change) => {
    await using folder = await temporaryFolder();
    await interrupted(folder.path);
    const landing = await open(folder.path, { source: sourceOf(change) });
    expect(landing.resumed).toBe(0);
    await landing.close();
    expect(await open(folder.path).then(async (again) => (await again.close(), again.resumed))).toBe(3);
  });

  test.each(['https://data.example/v1/', 'https://DATA.example:443/v1', 'https://user:pw@data.example/v1?x=1'])(
    'spelling of the service it is not: %s',
    async (baseUrl) => {
      await using folder = await temporaryFolder();
      await interrupted(folder.path);
      const landing = await open(folder.path, { source: sourceOf({ baseUrl }) });
      expect(landing.resumed).toBe(3);
      await landing.close();
    },
  );
});

describe('a damaged page is asked for again:', () => {
  test.each<[string, (path: string) => Promise<void>]>([
    ['truncated', (path) => truncate(path, 2)],
    ['emptied', (path) => truncate(path, 0)],
    ['with a flipped bit', (path) => writeFile(path, '["3"]')],
    ['under a name that is not its own', (path) => writeFile(path, '["1"]')],
  ])('%s', async (_how, damage) => {
    await using folder = await temporaryFolder();
    await damage(await pageFile(await interrupted(folder.path), 2));
    const landing = await open(folder.path);

    expect(await landing.read(2)).toBeUndefined();
    expect(landing.damaged).toBe(1);
    expect(await pageFile(landing, 2)).toMatch(/missing$/);
    await landing.land(2, bytes('["2"]'));
    expect(text(await landing.read(2))).toBe('["2"]');
    await landing.close();
  });

  test('gone meanwhile', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    await landing.land(1, bytes('[]'));
    await rm(await pageFile(landing, 1));
    expect(await landing.read(1)).toBeUndefined();
    expect(landing).toMatchObject({ damaged: 1 });
    expect(landing.last()).toBeUndefined();
    await landing.close();
  });

  test('there twice', async () => {
    await using folder = await temporaryFolder();
    const earlier = await interrupted(folder.path);
    await writeFile(join(earlier.folder, 'page-0000002.2.4f53cda18c2baa0c0354bb5f9a3ecbe5.json'), '[]');
    const landing = await open(folder.path);
    expect(landing).toMatchObject({ resumed: 2, damaged: 2 });
    expect(await landing.read(2)).toBeUndefined();
    await landing.close();
  });
});

describe('at opening', () => {
  test('half-written files of a killed run go', async () => {
    await using folder = await temporaryFolder();
    const { folder: source } = await interrupted(folder.path);
    await writeFile(join(source, 'page-0000004.2.4f53cda18c2baa0c0354bb5f9a3ecbe5.json.0a1b2c3d4e5f.tmp'), '[');
    const landing = await open(folder.path);
    expect((await readdir(source)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(landing.resumed).toBe(3);
    await landing.close();
  });

  test.each<[string, Partial<LandingOptions>]>([
    ['too old', { now: () => Date.now() + 7 * hour }],
    ['from the future', { now: () => Date.now() - 7 * hour }],
    ['unwanted', { restart: true }],
  ])('pages are removed when they are %s', async (_why, changes) => {
    await using folder = await temporaryFolder();
    await interrupted(folder.path);
    const landing = await open(folder.path, changes);
    expect(landing.resumed).toBe(0);
    expect(await readdir(landing.folder)).toEqual(['started.json']);
    await landing.close();
  });

  test.each(['', '{"startedAt":"yesterday","maxAgeMs":1}'])('pages of unknown age are removed: %j', async (marker) => {
    await using folder = await temporaryFolder();
    const { folder: source } = await interrupted(folder.path);
    await writeFile(join(source, 'started.json'), marker);
    const landing = await open(folder.path);
    expect(landing.resumed).toBe(0);
    await landing.close();
  });

  test('pages age from the first run on, however often they are resumed', async () => {
    await using folder = await temporaryFolder();
    const begin = Date.now();
    await interrupted(folder.path, { now: () => begin });
    for (const [hours, resumed] of [
      [4, 3],
      [5, 3],
      [7, 0],
    ] as const) {
      const landing = await open(folder.path, { now: () => begin + hours * hour });
      expect([hours, landing.resumed]).toEqual([hours, resumed]);
      await landing.close();
    }
  });

  test('a folder that cannot be written is told, with the option that chooses another', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'landing'), '');
    await expect(open(folder.path)).rejects.toMatchObject({
      name: 'SinkError',
      code: 'E_SINK_PATH',
      message: expect.stringMatching(new RegExp(`${folder.path}/landing.*: ENOTDIR: .*; --state-dir chooses another place$`)),
    });
  });
});

test('a page that cannot be written names page, folder and option', async () => {
  await using folder = await temporaryFolder();
  const landing = await open(folder.path);
  await rm(landing.folder, { recursive: true });
  await expect(landing.land(7, bytes('[]'))).rejects.toMatchObject({
    name: 'SinkError',
    code: 'E_SINK_WRITE',
    message: `cannot land page 7 in ${landing.folder}: ENOENT: no such file or directory; --state-dir chooses another place`,
  });
  await landing.close();
});

describe('sweepLandings', () => {
  const later = () => Date.now() + 7 * hour;

  test('removes what is too old, by the age that the run gave it', async () => {
    await using folder = await temporaryFolder();
    const landings = join(folder.path, 'landing');
    const old = await interrupted(folder.path);
    const kept = await interrupted(folder.path, { source: sourceOf({ collection: 'users' }), maxAgeMs: 24 * hour });
    expect(await sweepLandings(landings)).toEqual([]);
    expect(await sweepLandings(landings, later)).toEqual([old.folder.slice(landings.length + 1)]);
    expect((await readdir(landings)).sort()).toEqual(['account.key', kept.folder.slice(landings.length + 1)]);
  });

  test('removes nothing that is not ours', async () => {
    await using folder = await temporaryFolder();
    const landings = join(folder.path, 'landing');
    const { folder: source } = await interrupted(folder.path);
    await writeFile(join(source, 'mine.txt'), '');
    await mkdir(join(landings, 'leads-mine'));
    await symlink(folder.path, join(landings, `leads-${'0'.repeat(32)}`));
    await sweepLandings(landings, later);
    expect((await readdir(landings)).sort()).toHaveLength(4);
    expect(await readdir(source)).toEqual(['mine.txt']);
  });

  test('leaves a landing in use alone', async () => {
    await using folder = await temporaryFolder();
    const landing = await open(folder.path);
    await landing.land(1, bytes('[]'));
    expect(await sweepLandings(join(folder.path, 'landing'), later)).toEqual([]);
    expect(await readdir(landing.folder)).toHaveLength(2);
    await landing.close();
  });

  test('does nothing where there is no landing', async () => {
    await using folder = await temporaryFolder();
    expect(await sweepLandings(join(folder.path, 'landing'))).toEqual([]);
    expect(await filesBelow(folder.path)).toEqual([]);
  });
});

test('killed at any moment, a run finds every page that it was told had landed', async () => {
  await using folder = await temporaryFolder();
  const landings = join(folder.path, 'landing');
  const landed = new Set<number>();
  for (let kill = 0; kill < 8; kill += 1) {
    const child = start('test/landing/landing-child.ts', [landings, String(1 + Math.max(0, ...landed))]);
    child.on('message', (told: { page?: number }) => told.page !== undefined && landed.add(told.page));
    await once(child, 'message');
    await setTimeout(20 + 17 * kill);
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  const landing = await open(folder.path);

  expect(landed.size).toBeGreaterThan(8);
  for (const page of landed) expect([page, text(await landing.read(page))]).toEqual([page, text(bodyOf(page))]);
  expect(landing.damaged).toBe(0);
  expect((await readdir(landing.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  await landing.remove();
  expect(await filesBelow(folder.path)).toEqual(['landing', 'landing/account.key']);
});
