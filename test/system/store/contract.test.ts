import { describe, expect, test } from '@jest/globals';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { csv, ndjson } from '../../../src/sinks/index.js';
import { actionIn } from '../../../src/store/commit.js';
import {
  commitUnlogged,
  isOccupied,
  lockOutputs,
  logCommit,
  overlap,
  type PartialFile,
  prepareCommit,
  recoverCommits,
  reserveFile,
  Stores,
} from '../../../src/store/index.js';
import { leads, runIn } from '../../support/pipelines.js';
import { serviceOf } from '../../support/services.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

async function placed() {
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder, name);
  const place = {
    names: () => filesBelow(folder),
    read: (name: string) => readFile(at(name), 'utf8').catch(() => undefined),
    write: (name: string, text: string) => writeFile(at(name), text),
  };
  return {
    at,
    place,
    written: async (name: string, text: string): Promise<PartialFile> => {
      const file = await reserveFile(at(name), run);
      await file.append(text);
      await file.close();
      return file;
    },
  };
}

const run = 'run-1';
const columns = [column('uid')];
const rows = [{ uid: '1' }];

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

  test('replaces what stood there, and only by the commit', async () => {
    const { at, place, written } = await placed();
    await place.write('a.csv', 'old');
    const { action } = await written('a.csv', 'new');
    const prepared = await prepareCommit({ outputs: [at('a.csv')], actions: [action] });
    expect(await place.read('a.csv')).toBe('old');
    await prepared.commit();
    expect(await place.read('a.csv')).toBe('new');
  });

  test('removes what a killed run left for a destination when it is reserved again', async () => {
    const { at, place } = await placed();
    const killed = await reserveFile(at('a.csv'), '20260101T000000000Z-0a1b2c3d');
    await killed.append('half');
    await killed.close();
    await (await reserveFile(at('a.csv'), run)).discard();
    expect(await place.names()).toEqual([]);
  });

  test('carries out actions that were JSON, after a part of them, and again', async () => {
    const { at, place, written } = await placed();
    const files = [await written('a.csv', 'a'), await written('b.csv', 'b')];
    const commit = { outputs: [at('a.csv'), at('b.csv')], actions: files.map(({ action }) => action) };
    const read = JSON.parse(JSON.stringify(commit)) as typeof commit;
    expect(read).toStrictEqual(commit);
    await commitUnlogged({ ...read, actions: read.actions.slice(0, 1) });
    expect(await place.read('b.csv')).toBe(undefined);
    for (const _ of ['the rest', 'again']) await commitUnlogged(read);
    expect([await place.read('a.csv'), await place.read('b.csv')]).toEqual(['a', 'b']);
    expect(await place.names()).toEqual(['a.csv', 'b.csv']);
  });

  test('commits nothing when a file is not as it was written', async () => {
    const { at, place, written } = await placed();
    await place.write('a.csv', 'old');
    const [{ action: other }, { action }] = [await written('b.csv', 'b'), await written('a.csv', 'new')];
    await appendFile(action.from, 'more');
    const commit = { outputs: [at('a.csv'), at('b.csv')], actions: [other, action] };
    await expect(commitUnlogged(commit)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
    expect([await place.read('a.csv'), await place.read('b.csv')]).toEqual(['old', undefined]);
  });

  test('refuses an action for none of the outputs', async () => {
    const { at, place, written } = await placed();
    const { action } = await written('a.csv', 'a');
    await expect(prepareCommit({ outputs: [at('b.csv')], actions: [action] })).rejects.toMatchObject({ code: 'E_RUN_FAILED' });
    expect(await place.read('a.csv')).toBe(undefined);
  });

  test('understands its own actions, and no others', async () => {
    const { at, written } = await placed();
    const { action } = await written('a.csv', 'a');
    const known = actionIn(action);
    expect(known?.words).toContain(at('a.csv'));
    expect([known?.belongsTo(at('a.csv')), known?.belongsTo(at('b.csv'))]).toEqual([true, false]);
    for (const other of [{ ...action, unless: 'x' }, { action: action.action }, { action: 'no-such-action' }, 'text', undefined])
      expect(actionIn(other)).toBe(undefined);
    const commit = { outputs: [at('a.csv')], actions: [{ action: 'no-such-action' }] };
    await expect(prepareCommit(commit)).rejects.toMatchObject({ code: 'E_RUN_FAILED' });
  });

  test('locks an output for one run at a time, and leaves nothing', async () => {
    const { at, place } = await placed();
    const outputs = [at('out/b.csv'), at('a.csv')];
    const lock = await lockOutputs(outputs, { runId: run });
    await lock.check();
    const refusal = { code: 'E_RUN_LOCKED', message: expect.stringContaining(`${at('a.csv')} is held by run ${run}`) };
    await expect(lockOutputs([at('a.csv')], { runId: 'run-2' })).rejects.toMatchObject(refusal);
    await lock.release();
    await lock.release();
    await (await lockOutputs(outputs, { runId: 'run-2' })).release();
    expect(await place.names()).toEqual([]);
  });

  test.each([0, 1, 2])('is recovered from the redo log after %i of 2 actions', async (done) => {
    const { at, place, written } = await placed();
    const redoLog = join(await temporaryFolder(), 'state/redo-log');
    const files = [await written('a.csv', 'a'), await written('b.csv', 'b')];
    const commit = { runId: run, pipeline: 'p', outputs: [at('a.csv'), at('b.csv')], actions: files.map(({ action }) => action) };
    await logCommit(redoLog, commit);
    const text = await readFile(join(redoLog, `${run}.commit.json`), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ version: 4, store: 'local-disk', actions: commit.actions });
    await commitUnlogged({ ...commit, actions: commit.actions.slice(0, done) });
    expect(await recoverCommits(redoLog, { runId: 'run-2' })).toEqual([expect.objectContaining(commit)]);
    expect([await place.read('a.csv'), await place.read('b.csv')]).toEqual(['a', 'b']);
    expect([await place.names(), await readdir(redoLog)]).toEqual([['a.csv', 'b.csv'], []]);
  });

  test.each([
    ['csv', csv, '"uid"\n"1"\n'],
    ['ndjson', ndjson, '{"uid":"1"}\n'],
  ] as const)('takes the output of %s', async (name, sink, text) => {
    const { at, place } = await placed();
    const { path } = await writeAll(sink({ path: at(`out/a.${name}`) }, recording('/nowhere')), columns, rows);
    expect(path).toBe(at(`out/a.${name}`));
    expect(await place.read(`out/a.${name}`)).toBe(text);
  });

  test('takes the outputs of a pipeline and its rejects, and is asked what stands there before it is replaced by a part', async () => {
    const { at, place } = await placed();
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    const of = (steps: string) => `from: leads\nconsistency: off\n${steps}to:\n  - csv: { path: '${at('out/a.csv')}', columns: [lead_id] }`;
    const report = await runIn(from, of(''), folder, { stateDir: join(folder, 'state') });
    expect([report.sinks[0]?.path, report.rejects.path]).toEqual([at('out/a.csv'), at('out/a.csv.rejects.ndjson')]);
    const whole = await place.read('out/a.csv');
    expect(whole?.split('\n')).toHaveLength(5);
    expect(await place.read('out/a.csv.rejects.ndjson')).toBe('');
    const part = runIn(from, of('steps:\n  - limit: 1\n'), folder, { stateDir: join(folder, 'state') });
    await expect(part).rejects.toMatchObject({ code: 'E_GATE_PARTIAL', message: expect.stringContaining(at('out/a.csv')) });
    expect(await place.read('out/a.csv')).toBe(whole);
  });
});
