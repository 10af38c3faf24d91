import { describe, expect, test } from '@jest/globals';
import { cp, lstat, mkdir, open, readdir, readFile, readlink, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { commitUnlogged, sha256File } from '../../../src/store/index.js';
import { actionIn } from '../../../src/store/commit.js';
import { rollbackTable } from '../../../src/run/index.js';
import { parquet } from '../../../src/sinks/index.js';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { tableRuns, verifyTable } from '../../../src/lake/index.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { pageOf } from '../../support/pages.js';
import { column, commitOf, elsewhere, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const columns = [column('uid', 'text', { original: 'UID' })];

/** Publishes one row whose `uid` is the run's name. */
function run(base: string, runId: string) {
  return writeAll(parquet({ path: 'lake/t' }, recording(base, runId)), columns, [{ uid: runId }]);
}

let runs = 0;

function rowsOf(glob: string): Promise<unknown[]> {
  return duckdb(`SELECT uid FROM '${glob}' ORDER BY uid`);
}

describe('a table', () => {
  test('is a link to the folder of its newest run', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    expect(await readlink(join(folder, 'lake/t'))).toBe('.t.runs/run-1');
    expect(await readdir(join(folder, 'lake/t'))).toEqual(['part-00000-run-1.parquet']);
  });

  test('stages under names that no glob for Parquet finds', async () => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 'lake/t' }, recording(folder));
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ uid: '1' }]));
    await writer.prepare();
    expect(await filesBelow(folder)).toEqual([
      'lake',
      'lake/.t.lock',
      'lake/.t.runs',
      'lake/.t.runs/_leadstream',
      'lake/.t.runs/_leadstream/intents',
      'lake/.t.runs/_leadstream/intents/run-1.json',
      'lake/.t.runs/data',
      'lake/.t.runs/data/run-1',
      'lake/.t.runs/data/run-1/part-00000.parquet.stored',
    ]);
    await writer.abort();
  });

  test('renames the links of its view, then _SUCCESS if asked for, then puts the link, then expires the earlier run', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    const writer = await parquet({ path: 'lake/t', success_file: true }, recording(folder, 'run-2'));
    await writer.begin(columns);
    const { actions } = await commitOf(await writer.prepare());
    expect(actions.map((action) => actionIn(action)?.destination.slice(folder.length + 1))).toEqual([
      'lake/.t.runs/run-2/part-00000-run-2.parquet',
      'lake/.t.runs/run-2/_SUCCESS',
      'lake/t',
      'lake/.t.runs/run-1/part-00000-run-1.parquet.kept',
    ]);
    await writer.abort();
  });

  test('gives each row once to every glob, although the earlier run is kept', async () => {
    const folder = await temporaryFolder();
    for (const id of ['run-1', 'run-2', 'run-3']) await run(folder, id);
    for (const glob of ['lake/t/*.parquet', 'lake/t/**/*.parquet', 'lake/**/*.parquet']) {
      expect(await rowsOf(join(folder, glob))).toEqual([{ uid: 'run-3' }]);
    }
  });

  test('keeps the last run with other content when runs repeat each other, for a rollback', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'lake/t');
    await run(folder, 'run-1');
    for (const id of ['run-2', 'run-3', 'run-4'])
      await writeAll(parquet({ path: 'lake/t' }, recording(folder, id)), columns, [{ uid: 'the same' }]);
    expect((await tableRuns(path)).map(({ run: id, state }) => [id, state])).toEqual([
      ['run-4', 'published'],
      ['run-1', 'kept'],
    ]);
    expect(await rollbackTable(path, { stateDir: join(folder, 'state') })).toMatchObject({ from: 'run-4', to: 'run-1' });
    expect(await rowsOf(`${path}/*.parquet`)).toEqual([{ uid: 'run-1' }]);
  });

  test('keeps one earlier run and removes those before', async () => {
    const folder = await temporaryFolder();
    for (const id of ['run-1', 'run-2', 'run-3']) await run(folder, id);
    expect(await filesBelow(join(folder, 'lake/.t.runs'))).toEqual([
      '_leadstream',
      '_leadstream/intents',
      '_leadstream/runs',
      '_leadstream/runs/run-2.json',
      '_leadstream/runs/run-3.json',
      'data',
      'data/run-2',
      'data/run-2/part-00000.parquet.stored',
      'data/run-3',
      'data/run-3/part-00000.parquet.stored',
      'run-3',
      'run-3/part-00000-run-3.parquet',
    ]);
  });

  test.each<[string, (manifest: string) => Promise<unknown>]>([
    ['cut', (manifest) => truncate(manifest, 100)],
    ['lost', (manifest) => rm(manifest)],
  ])('gives each row once to every glob after a run whose manifest is %s', async (_what, damage) => {
    const folder = await temporaryFolder();
    for (const id of ['run-1', 'run-2']) await run(folder, id);
    await damage(join(folder, 'lake/.t.runs/_leadstream/runs/run-2.json'));
    await rollbackTable(join(folder, 'lake/t'), { to: 'run-1', stateDir: join(folder, 'state') });
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual([{ uid: 'run-1' }]);
    for (const id of ['run-3', 'run-4']) await run(folder, id);
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual([{ uid: 'run-4' }]);
    expect(await filesBelow(join(folder, 'lake/.t.runs/data/run-2'))).toEqual(['part-00000.parquet.stored']);
  });

  test('stores a file again of which there is nothing but the name that readers had', async () => {
    const folder = await temporaryFolder();
    const root = join(folder, 'lake/.t.runs');
    for (const id of ['run-1', 'run-2']) await run(folder, id);
    await mkdir(join(root, 'run-1'));
    await rename(join(root, 'data/run-1/part-00000.parquet.stored'), join(root, 'run-1/part-00000-run-1.parquet.kept'));
    await rm(join(root, 'data/run-2'), { recursive: true });
    await run(folder, 'run-3');
    expect((await tableRuns(join(folder, 'lake/t'))).map(({ run: id }) => id)).toEqual(['run-3', 'run-2']);
    await rollbackTable(join(folder, 'lake/t'), { stateDir: join(folder, 'state') });
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual([{ uid: 'run-2' }]);
  });

  test('keeps the whole file of a view when the stored one, of which it is a copy, was cut', async () => {
    const folder = await temporaryFolder();
    const root = join(folder, 'lake/.t.runs');
    for (const id of ['run-1', 'run-2']) await run(folder, id);
    const [stored, view] = [join(root, 'data/run-2/part-00000.parquet.stored'), join(root, 'run-2/part-00000-run-2.parquet')];
    await rename(view, `${view}.copy`);
    await cp(`${view}.copy`, view);
    await rm(`${view}.copy`);
    const whole = await sha256File(view);
    await rm(stored);
    await writeFile(stored, 'PAR1');
    await run(folder, 'run-3');
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual([{ uid: 'run-3' }]);
    expect(await sha256File(`${view}.kept`)).toBe(whole);
  });

  test('keeps a run that was published when its commit was cut, and then rolled back, while another rollback left its draft', async () => {
    const folder = await temporaryFolder();
    const root = join(folder, 'lake/.t.runs');
    for (const id of ['run-1', 'run-2']) await run(folder, id);
    await symlink('.t.runs/run-1', join(root, 'run-1.link'));
    await writeFile(join(root, '_leadstream/intents/run-2.json'), '{"version":1,"run":"run-2","base":0,"started_at":""}');
    await rollbackTable(join(folder, 'lake/t'), { stateDir: join(folder, 'state') });
    await writeAll(parquet({ path: 'lake/t', keep: 2 }, recording(folder, 'run-3')), columns, [{ uid: 'run-3' }]);
    expect((await tableRuns(join(folder, 'lake/t'))).map(({ run: id }) => id).sort()).toEqual(['run-1', 'run-2', 'run-3']);
  });

  test('removes no run when the link is lost before the cleanup', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    const writer = await parquet({ path: 'lake/t', keep: 0 }, recording(folder, 'run-2'));
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ uid: 'run-2' }]));
    const prepared = await writer.prepare();
    await commitUnlogged(await commitOf(prepared));
    await rm(join(folder, 'lake/t'));
    await expect(prepared.cleanup()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect((await tableRuns(join(folder, 'lake/t'))).map(({ run: id }) => id)).toEqual(['run-2', 'run-1']);
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual([{ uid: 'run-2' }]);
  });

  test('has _SUCCESS again after a rollback', async () => {
    const folder = await temporaryFolder();
    for (const id of ['run-1', 'run-2'])
      await writeAll(parquet({ path: 'lake/t', success_file: true }, recording(folder, id)), columns, [{ uid: id }]);
    await rollbackTable(join(folder, 'lake/t'), { stateDir: join(folder, 'state') });
    expect((await readdir(join(folder, 'lake/t'))).sort()).toEqual(['_SUCCESS', 'part-00000-run-1.parquet']);
    expect((await verifyTable(join(folder, 'lake/t'))).differences).toEqual([]);
  });

  test('removes only what a manifest lists', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    await writeFile(join(folder, 'lake/.t.runs/run-1/notes.txt'), 'mine');
    await mkdir(join(folder, 'lake/.t.runs/mine'));
    await writeFile(join(folder, 'lake/.t.runs/mine/x.parquet'), 'mine');
    for (const id of ['run-2', 'run-3']) await run(folder, id);
    expect(await readdir(join(folder, 'lake/.t.runs/run-1'))).toEqual(['notes.txt']);
    expect(await readdir(join(folder, 'lake/.t.runs/mine'))).toEqual(['x.parquet']);
  });

  test.each(['', 'k=/../', 'x/'])('does not follow a manifest that names files elsewhere: %s', async (through) => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    await writeFile(join(folder, 'precious.parquet'), '');
    const path = join(folder, 'lake/.t.runs/_leadstream/runs/run-1.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('part-00000-run-1.parquet', `${through}../../../precious.parquet`));
    await expect(run(folder, 'run-2')).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining('cannot be read'),
    });
    expect(await readdir(folder)).toContain('precious.parquet');
    expect(await rowsOf(join(folder, 'lake/t/*.parquet'))).toEqual([{ uid: 'run-1' }]);
  });

  test('leaves a copy alone that somebody made of a run', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    await cp(join(folder, 'lake/.t.runs/run-1'), join(folder, 'lake/.t.runs/backup'), { recursive: true });
    for (const id of ['run-2', 'run-3']) await run(folder, id);
    expect(await readdir(join(folder, 'lake/.t.runs/backup'))).toEqual(['part-00000-run-1.parquet']);
  });

  test('describes itself in a manifest', async () => {
    const folder = await temporaryFolder();
    const prepared = await run(folder, 'run-1');
    const manifest = await publishedManifest(join(folder, 'lake/t'));
    expect(manifest).toMatchObject({
      version: 1,
      run_id: 'run-1',
      pipeline: 'test',
      fingerprint: 'f00d',
      collection: 'users',
      pages: 1,
      rows: 1,
      bytes: prepared.bytes,
      schema: [{ name: 'uid', original: 'UID', type: 'text' }],
      files: [
        {
          name: 'part-00000-run-1.parquet',
          rows: 1,
          bytes: prepared.bytes,
          sha256: await sha256File(join(folder, 'lake/t/part-00000-run-1.parquet')),
          written_by: 'run-1',
        },
      ],
    });
  });

  test('takes the place of an empty folder', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'lake/t'), { recursive: true });
    await run(folder, 'run-1');
    expect((await lstat(join(folder, 'lake/t'))).isSymbolicLink()).toBe(true);
  });

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['a folder with files', async (path) => [await mkdir(path), await writeFile(join(path, 'x'), '')]],
    ['a file', (path) => writeFile(path, '')],
    ['a link to elsewhere', (path) => symlink('elsewhere', path)],
    ['a link that climbs', (path) => symlink('.t.runs/..', path)],
  ])('refuses %s that is not ours', async (_name, make) => {
    const folder = await temporaryFolder();
    await make(join(folder, 't'));
    const before = await filesBelow(folder);
    await expect(parquet({ path: 't' }, recording(folder))).rejects.toMatchObject({ name: 'SinkError', code: 'E_SINK_FOREIGN' });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test('has data files only in every mode, and _SUCCESS where it is asked for', async () => {
    const folder = await temporaryFolder();
    for (const mode of ['replace', 'append', 'append'] as const) {
      runs += 1;
      const context = { ...recording(folder, `run-${runs}`), key: ['uid'] };
      await writeAll(parquet({ path: 't', mode }, context), [column('uid', 'text', { source: 'uid' })], [{ uid: String(runs) }]);
      expect((await readdir(join(folder, 't'))).filter((name) => !/^part-.*\.parquet$/.test(name))).toEqual([]);
    }
    await writeAll(parquet({ path: 't', success_file: true }, recording(folder, 'run-9')), columns, [{ uid: '9' }]);
    expect(await readdir(join(folder, 't'))).toEqual(['_SUCCESS', 'part-00000-run-9.parquet']);
    expect(await readFile(join(folder, 't/_SUCCESS'), 'utf8')).toBe('');
  });

  test('removes what dead runs left, and nothing of others', async () => {
    const folder = await temporaryFolder();
    const root = join(folder, 'lake/.t.runs');
    await run(folder, 'run-1');
    const dead = ['run-0.json', 'run-0.keys.bin'].map((name) => `_leadstream/runs/${name}`);
    dead.push('data/run-0/k=1/part-00000.parquet.stored', 'data/run-1/part-00000.parquet.stored.partial');
    dead.push('run-0/k=1/part-00000-run-0.parquet.partial', 'run-0/_SUCCESS.partial');
    const others = [
      'notes.txt',
      'run-0.json.mine',
      'x y.link',
      'data/run-0/notes.txt',
      'run-0/notes.txt',
      'data/run-00/part-00000.parquet.stored',
    ];
    for (const name of [...dead, ...others]) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), '');
    }
    await cp(join(root, 'run-1/part-00000-run-1.parquet'), join(root, 'run-0/part-00000-run-1.parquet'));
    await symlink('.t.runs/run-0', join(root, 'run-0.link'));
    await writeFile(join(root, '_leadstream/intents/run-0.json'), '{"version":1,"run":"run-0","base":0,"started_at":""}');
    await run(folder, 'run-2');
    const found = await filesBelow(root);
    expect(found.filter((name) => name.includes('run-0'))).toEqual(
      ['data/run-0', 'data/run-00', 'run-0', ...others.filter((name) => name.includes('run-0'))].sort(),
    );
    for (const name of others) expect(found).toContain(name);
    expect(found.filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  test.each(['replace', 'append'] as const)('begins where the first run was killed before its commit, with %s', async (mode) => {
    const folder = await temporaryFolder();
    const open = (id: string) => elsewhere(parquetSink, { path: 't', mode })({ ...recording(folder, id), key: ['uid'] });
    const keyed = [column('uid', 'text', { source: 'uid' })];
    const killed = await open('run-1');
    await killed.begin(keyed);
    await killed.write(pageOf(1, [{ uid: 'killed' }]));
    await commitOf(await killed.prepare());
    await writeAll(open('run-2'), keyed, [{ uid: 'run-2' }]);
    expect(await rowsOf(join(folder, '**/*.parquet'))).toEqual([{ uid: 'run-2' }]);
    expect((await filesBelow(folder)).filter((name) => name.includes('run-1'))).toEqual([]);
  });

  test('loses no file to the intent of a run that committed, as a backup may bring it back', async () => {
    const folder = await temporaryFolder();
    const context = (id: string) => ({ ...recording(folder, id), key: ['uid'] });
    const append = (id: string) =>
      writeAll(
        parquet({ path: 'lake/t', mode: 'append', keep: 0 }, context(id)),
        [column('uid', 'text', { source: 'uid' })],
        [{ uid: id }],
      );
    for (const id of ['run-1', 'run-2', 'run-3']) await append(id);
    for (const id of ['run-1', 'run-3'])
      await writeFile(join(folder, `lake/.t.runs/_leadstream/intents/${id}.json`), `{"version":1,"run":"${id}","base":0,"started_at":""}`);
    await append('run-4');
    expect(await rowsOf(join(folder, 'lake/**/*.parquet'))).toEqual(['run-1', 'run-2', 'run-3', 'run-4'].map((uid) => ({ uid })));
    expect((await verifyTable(join(folder, 'lake/t'))).differences).toEqual([]);
  });

  test('shows that a stored file is missing, which readers still see', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    await rm(join(folder, 'lake/.t.runs/data/run-1/part-00000.parquet.stored'));
    expect((await verifyTable(join(folder, 'lake/t'))).differences).toEqual(['data/run-1/part-00000.parquet.stored is missing']);
    await run(folder, 'run-2');
    expect((await verifyTable(join(folder, 'lake/t'))).differences).toEqual([]);
  });

  test('refuses a run id that was published before', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    await expect(run(folder, 'run-1')).rejects.toMatchObject({ code: 'E_SINK_PATH', message: expect.stringContaining('earlier run') });
    expect(await rowsOf(join(folder, 'lake/t/*.parquet'))).toEqual([{ uid: 'run-1' }]);
  });

  test('shows the earlier rows until the link is in place, and the new ones from then on', async () => {
    const folder = await temporaryFolder();
    await run(folder, 'run-1');
    const writer = await parquet({ path: 'lake/t' }, recording(folder, 'run-2'));
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ uid: 'run-2' }]));
    const { outputs, actions } = await commitOf(await writer.prepare());
    const seen: unknown[] = [];
    for (const action of actions) {
      await commitUnlogged({ outputs, actions: [action] });
      seen.push(await rowsOf(join(folder, 'lake/t/*.parquet')));
    }
    expect(seen).toEqual(['run-1', 'run-2', 'run-2'].map((uid) => [{ uid }]));
  });

  test('fails when a byte of a data file changed between writing and reading back', async () => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 't', row_group_rows: 1 }, recording(folder));
    await writer.begin(columns);
    for (const uid of ['1', '2', '3']) await writer.write(pageOf(1, [{ uid }]));
    const file = await open(join(folder, '.t.runs/data/run-1/part-00000.parquet.stored'), 'r+');
    await file.write(Buffer.from('?'), 0, 1, 6);
    await file.close();
    await expect(writer.prepare()).rejects.toMatchObject({
      code: 'E_SINK_VERIFY',
      message: expect.stringContaining('the bytes read back differ'),
    });
    await writer.abort();
  });

  test('fails when a part does not read back as it was written', async () => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 't' }, recording(folder));
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ uid: '1' }]));
    const part = join(folder, '.t.runs/data/run-1/part-00000.parquet.stored');
    await rm(part);
    await writeFile(part, 'what another program wrote');
    await expect(writer.prepare()).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
    await writer.abort();
  });
});
