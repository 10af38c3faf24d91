import { expect, test } from '@jest/globals';
import { of } from 'rxjs';
import { SinkError } from '../../src/core/index.js';
import { tableRuns, verifyTable } from '../../src/lake/index.js';
import { intentKey } from '../../src/lake/store-table.js';
import { rollbackTable, writeTo } from '../../src/run/index.js';
import type { Stores } from '../../src/store/index.js';
import { pageOf } from '../support/pages.js';
import { facts } from '../support/sinks.js';
import { storesAround } from '../support/stores.js';
import { columns, type Kind, type Place, rowsOf, Tested } from '../support/tested-table.js';

/** Stores in which the nth write of such a key fails: `before` it is sent, or `after` it was applied. */
function failing(when: 'before' | 'after', matches: (key: string) => boolean, nth: number): { stores: Stores; failed: () => boolean } {
  let writes = 0;
  const stores = storesAround(['create', 'replace'], async (write, key) => {
    if (!matches(key) || (writes += 1) !== nth) return write();
    if (when === 'after') await write();
    throw new Error('the connection was cut');
  });
  return { stores, failed: () => writes >= nth };
}

const isCommit = (key: string) => /^_latest\.json$|^metadata\/|^_delta_log\//.test(key);

/** What every table does. */
export function tableTests(kind: Kind, place: Place): void {
  test('is replaced, appended to, and replaced by partition', async () => {
    const table = await Tested.at(kind, place);
    const by = { partition_by: ['day'] };
    await table.run({ ...by }, [...rowsOf('20240101', 'a', 'b'), ...rowsOf('20240102', 'x')]);
    expect(await table.rows()).toEqual(['a', 'b', 'x']);
    const names = async () => (await table.version()).files.map(({ name }) => name);
    const [kept] = (await names()).filter((name) => name.includes('01-01'));
    await table.run({ ...by, mode: 'replace_partitions' }, rowsOf('20240102', 'y', 'z'));
    expect(await table.rows()).toEqual(['a', 'b', 'y', 'z']);
    const appended = await table.run({ ...by, mode: 'append' }, rowsOf('20240102', 'a', 'n'));
    expect(appended).toMatchObject({ rows: 1, unchanged: 1, total: 5 });
    expect(await table.rows()).toEqual(['a', 'b', 'n', 'y', 'z']);
    expect(await names()).toContain(kept);
    await table.run({ ...by }, []);
    expect(await table.rows()).toEqual([]);
    await table.check();
  });

  test('goes back to an earlier run, and forward again', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a'));
    await table.run({}, rowsOf('20240101', 'b'));
    expect(await rollbackTable(table.path, table.options)).toMatchObject({ from: 'run-0002', to: 'run-0001' });
    expect(await table.rows()).toEqual(['a']);
    expect((await tableRuns(table.path)).map(({ run, state }) => [run, state])).toEqual([
      ['run-0002', 'kept'],
      ['run-0001', 'published'],
    ]);
    await rollbackTable(table.path, { ...table.options, to: 'run-0002' });
    expect(await table.rows()).toEqual(['b']);
    await table.check();
  });

  test('keeps as many runs as it is to keep, and what they need', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a'));
    for (const id of ['b', 'c', 'd']) await table.run({ mode: 'append', keep: 3 }, rowsOf('20240101', id));
    const [, , , first] = await tableRuns(table.path);
    expect(first?.manifest.rows).toBe(1);
    for (const { run } of await tableRuns(table.path)) expect((await verifyTable(table.path, { run })).differences).toEqual([]);
    await table.check();
  });
}

/** What every table on a store does. */
export function storeTableTests(kind: Kind, place: Place): void {
  test('stays as it is when a run that replaces it has the same content', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a', 'b'));
    const before = await table.keys();
    await table.run({}, rowsOf('20240101', 'a', 'b'));
    expect(await table.keys()).toEqual(before);
  });

  test.each([undefined, 'cut'])('is repaired by a run with the same content when a data file is %s', async (damage) => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a', 'b'));
    const [name = ''] = await table.keys('data/');
    await (damage === undefined ? table.objects.remove([name]) : table.objects.put(name, damage));
    await table.run({}, rowsOf('20240101', 'a', 'b'));
    expect(await table.rows()).toEqual(['a', 'b']);
    await table.check();
  });

  // The requests to a catalog are cut in the tests of tables of Iceberg.
  (place === 'catalog' ? test.skip : test).each(['before', 'after'] as const)(
    'is committed once when the reply to any write of the commit is lost %s it was applied',
    async (when) => {
      const table = await Tested.at(kind, place);
      await table.run({}, rowsOf('20240101', 'a'));
      const ids = ['a'];
      for (let nth = 1, isCut = true; isCut; nth += 1) {
        const { stores, failed } = failing(when, isCommit, nth);
        ids.push(`b${nth}`);
        await table.run({ mode: 'append', keep: 9 }, rowsOf('20240101', ...ids), stores);
        isCut = failed();
        expect(await table.rows()).toEqual(ids);
        expect(await tableRuns(table.path)).toHaveLength(ids.length);
        await table.check();
      }
      expect(ids.length).toBeGreaterThan(2);
    },
  );

  test('refuses a run that began with an earlier version, and keeps nothing of it', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a'));
    const slow = await table.open({ mode: 'append' });
    await slow.begin(columns);
    await slow.write(pageOf(1, rowsOf('20240101', 'slow')));
    const prepared = await slow.prepare();
    await table.run({ mode: 'append' }, rowsOf('20240101', 'fast'));
    await prepared.actions(facts);
    await expect(prepared.commit?.(false)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await slow.abort();
    expect(await table.rows()).toEqual(['a', 'fast']);
    expect((await table.keys()).filter((key) => key.includes('run-0002'))).toEqual([]);
    await table.check();
  });

  test('has the rows of those of ten writers at once that succeeded', async () => {
    const table = await Tested.at(kind, place);
    const rows: string[] = kind === 'delta' ? [] : ['a'];
    // A table of Delta is also begun by them.
    for (const id of rows) await table.run({}, rowsOf('20240101', id));
    for (const round of ['first', 'second']) {
      const ids = Array.from({ length: 10 }, (_, index) => `${round}${index}`);
      const ended = await Promise.allSettled(ids.map((id) => table.run({ mode: 'append' }, rowsOf('20240101', id))));
      const won = ids.filter((_, index) => ended[index]?.status === 'fulfilled');
      for (const each of ended) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'E_RUN_LOCKED' });
      expect(won.length).toBeGreaterThan(0);
      rows.push(...won);
      expect(await table.rows()).toEqual(rows.toSorted());
    }
    await table.run({ mode: 'append' }, rowsOf('20240101', 'z'));
    await table.check();
  });

  test('is cleared of what killed runs left, by the next one that commits', async () => {
    const table = await Tested.at(kind, place);
    const dead: string[] = [];
    // SeaweedFS gives a new table another location when something is left at the usual one.
    if (place === 'catalog') await table.run({}, rowsOf('20240101', 'z'));
    for (const mode of ['replace', 'append'] as const) {
      const killed = await table.open({ mode });
      dead.push(table.lastRun);
      await killed.begin(columns);
      await killed.write(pageOf(1, rowsOf('20240101', 'k')));
      await (await killed.prepare()).actions(facts);
      // A kill: nothing is aborted.
      await table.run({ mode }, rowsOf('20240101', mode));
    }
    expect(await table.rows()).toEqual(['append', 'replace']);
    const [runs, data] = [await table.keys('_leadstream/runs/'), await table.keys('data/')];
    expect([...runs, ...data].filter((key) => dead.some((run) => key.includes(run)))).toEqual([]);
    expect((await verifyTable(table.path)).differences).toEqual([]);
  });

  test('loses no file to the intent of a run that arrives when the run is forgotten', async () => {
    const table = await Tested.at(kind, place);
    for (const id of ['a', 'b', 'c']) await table.run({ mode: 'append', keep: 0 }, rowsOf('20240101', id));
    await table.objects.put(intentKey('run-0001'), JSON.stringify({ version: 1, run: 'run-0001', base: 0, started_at: '' }));
    await table.run({ mode: 'append', keep: 0 }, rowsOf('20240101', 'd'));
    expect(await table.rows()).toEqual(['a', 'b', 'c', 'd']);
    await table.check();
  });

  test('begins where the first run was killed, and is cleared of it also by a run that changes nothing', async () => {
    const table = await Tested.at(kind, place);
    if (place === 'catalog') await table.run({}, rowsOf('20240101', 'a'));
    for (const _ of ['the first run', 'one that changes nothing']) {
      const killed = await table.open({});
      const dead = table.lastRun;
      await killed.begin(columns);
      await killed.write(pageOf(1, rowsOf('20240101', 'k')));
      await (await killed.prepare()).actions(facts);
      if (kind === 'iceberg') await table.objects.put(`metadata/${dead}-1-m0.avro`, 'x');
      await table.run({}, rowsOf('20240101', 'a'));
      expect((await table.keys()).filter((key) => key.includes(dead))).toEqual([]);
      expect(await table.rows()).toEqual(['a']);
    }
  });

  test('does not begin anew over its runs where nothing says any more which is current', async () => {
    const table = await Tested.at(kind, place);
    await table.run({ mode: 'append' }, rowsOf('20240101', 'a'));
    const lost = (await table.keys()).filter((key) => /^_latest\.json$|\.metadata\.json$|^metadata\/version-hint|^_delta_log\//.test(key));
    if (place === 'catalog') return;
    await table.objects.remove(lost);
    const before = await table.keys();
    for (const mode of ['append', 'replace'] as const)
      await expect(table.run({ mode }, rowsOf('20240101', 'b'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: /restore/ });
    expect(await table.keys()).toEqual(before);
  });

  test('is cleared of an upload that was cut and arrives after its run has ended', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a'));
    const stores = storesAround(['upload'], () => Promise.reject(new SinkError('E_SINK_WRITE', 'the connection was cut')));
    await expect(table.run({}, rowsOf('20240101', 'b'), stores)).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
    await table.objects.put(`data/${table.lastRun}/part-00000.parquet`, 'late');
    await table.run({}, rowsOf('20240101', 'c'));
    expect((await table.keys('data/')).filter((key) => key.includes('run-0002'))).toEqual([]);
    await table.check();
  });

  test('is published where nothing may be removed, with a warning', async () => {
    const table = await Tested.at(kind, place);
    const stores = storesAround(['remove'], () => Promise.reject(new SinkError('E_SINK_PATH', 'no right to delete')));
    const warnings: string[] = [];
    for (const id of ['a', 'b'])
      await writeTo(of(pageOf(1, rowsOf('20240101', id))), table.open({}, stores), {
        columns,
        watch: { warning: ({ code }) => void warnings.push(code) },
      });
    expect(warnings).toEqual(['W_SINK_TIDY', 'W_SINK_TIDY']);
    expect(await table.rows()).toEqual(['b']);
  });

  test('shows a changed file and a changed manifest, and is not added to', async () => {
    const table = await Tested.at(kind, place);
    await table.run({}, rowsOf('20240101', 'a'));
    const text = (await table.objects.read('_leadstream/runs/run-0001.json'))?.bytes.toString() ?? '';
    await table.objects.put('_leadstream/runs/run-0001.json', text.replace('"users"', '"other"'));
    expect((await verifyTable(table.path)).differences).toEqual([
      'the manifest of run run-0001 is not the one that the run committed (SHA-256)',
    ]);
    await expect(table.run({ mode: 'append' }, rowsOf('20240101', 'b'))).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    await table.objects.put('_leadstream/runs/run-0001.json', text);
    const [name = ''] = await table.keys('data/');
    await table.objects.put(name, 'no Parquet');
    expect((await verifyTable(table.path)).differences).toEqual([expect.stringContaining(`${name} has 10 bytes`)]);
    await expect(table.run({ mode: 'append' }, rowsOf('20240101', 'b'))).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    await table.run({}, rowsOf('20240101', 'b'));
    await table.check();
  });

  // A catalog chooses a place where nothing is.
  (place === 'catalog' ? test.skip : test)('does not begin where something else is', async () => {
    const table = await Tested.at(kind, place);
    await table.objects.put('somebody.txt', 'x');
    await expect(table.run({}, rowsOf('20240101', 'a'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect((await table.keys()).filter((key) => key !== '_leadstream/probe.json')).toEqual(['somebody.txt']);
  });
}
