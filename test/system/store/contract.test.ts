import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { actionIn } from '../../../src/store/commit.js';
import { commitUnlogged, isOccupied, overlap, prepareCommit, reserveFile, Stores } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

async function placed() {
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder, name);
  const place = { names: () => filesBelow(folder), read: (name: string) => readFile(at(name), 'utf8').catch(() => undefined) };
  return { at, place };
}

const run = 'run-1';

describe('a store for csv, ndjson and rejects', () => {
  test('tells whether two destinations are one, in either order', async () => {
    const { at } = await placed();
    expect(overlap(at('out/a.csv'), at('out/a.csv'))).toBe(true);
    for (const other of ['out/b.csv', 'a.csv', 'out/a.csv.rejects.ndjson']) {
      expect(overlap(at('out/a.csv'), at(other))).toBe(false);
      expect(overlap(at(other), at('out/a.csv'))).toBe(false);
    }
  });

  test('shows nothing of a reserved file, and leaves nothing when it is discarded', async () => {
    const { at, place } = await placed();
    const file = await reserveFile(at('out/a.csv'), run);
    await file.append('rows');
    expect(await place.read('out/a.csv')).toBe(undefined);
    expect(await isOccupied(at('out/a.csv'), new Stores())).toBe(false);
    await file.discard();
    await file.discard();
    expect(await place.names()).toEqual([]);
  });

  test('commits what was appended as text and bytes, and counts it', async () => {
    const { at, place } = await placed();
    const file = await reserveFile(at('a.csv'), run);
    await file.append('é');
    await file.append(Uint8Array.of(10));
    await file.close();
    expect(file.bytes).toBe(3);
    await commitUnlogged({ outputs: [at('a.csv')], actions: [file.action] });
    await file.discard();
    expect(await place.read('a.csv')).toBe('é\n');
    expect(await place.names()).toEqual(['a.csv']);
    expect(await isOccupied(at('a.csv'), new Stores())).toBe(true);
  });

  test('commits no file that is not closed', async () => {
    const { at } = await placed();
    const file = await reserveFile(at('a.csv'), run);
    expect(() => file.action).toThrow(expect.objectContaining({ code: 'E_SINK_WRITE' }));
    await file.discard();
    await expect(file.append('more')).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
  });

  test('understands its own actions, and no others', async () => {
    const { at } = await placed();
    const file = await reserveFile(at('a.csv'), run);
    await file.append('a');
    await file.close();
    const { action } = file;
    const known = actionIn(action);
    expect(known?.words).toContain(at('a.csv'));
    expect([known?.belongsTo(at('a.csv')), known?.belongsTo(at('b.csv'))]).toEqual([true, false]);
    for (const other of [{ ...action, unless: 'x' }, { action: action.action }, { action: 'no-such-action' }, 'text', undefined])
      expect(actionIn(other)).toBe(undefined);
    const commit = { outputs: [at('a.csv')], actions: [{ action: 'no-such-action' }] };
    await expect(prepareCommit(commit)).rejects.toMatchObject({ code: 'E_RUN_FAILED' });
  });
});
