import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { verifyTable } from '../../src/lake/index.js';
import { rollbackTable } from '../../src/run/index.js';
import { type Kind, type Place, rowsOf, Tested } from '../support/tested-table.js';

const night = (table: Tested, id: string, keep = 9) => table.run({ mode: 'append', keep }, rowsOf('20240101', id));

/** A table of five nights, and all of its objects after each. */
async function fiveNights(kind: Kind, place: Place) {
  const table = await Tested.at(kind, place);
  const saved: string[] = [];
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    await night(table, id);
    saved.push(await table.saved());
  }
  return { table, saved, log: await readFile(table.log, 'utf8') };
}

/** What says which version is current, by its families, each in the order of time. */
const families = [
  /^_latest\.json$/,
  /^metadata\/v\d+\.metadata\.json$/,
  /^metadata\/version-hint/,
  /^_delta_log\//,
  /^_leadstream\/runs\/.*json$/,
];

/** What an object becomes. `before`: those of its family before it, and what it was when the last night began. */
const damages: Readonly<Record<string, (table: Tested, keys: readonly string[], index: number, before: string) => Promise<void>>> = {
  lost: ({ objects }, keys, index) => objects.remove([keys[index] ?? '']),
  'lost with all after it': ({ objects }, keys, index) => objects.remove(keys.slice(index)),
  empty: ({ objects }, keys, index) => objects.put(keys[index] ?? '', ''),
  cut: async ({ objects }, keys, index) => {
    const text = (await objects.read(keys[index] ?? ''))?.bytes.toString() ?? '';
    await objects.put(keys[index] ?? '', text.slice(0, text.length / 2));
  },
  'as of a new table': async ({ objects }, keys) => {
    const empty = { version: 1, sequence: 0, nonce: '', current: { id: 0, replaced: 0, tables: {} }, kept: [], runs: [] };
    if (keys.includes('_latest.json')) await objects.put('_latest.json', JSON.stringify(empty));
  },
  swapped: async ({ objects }, keys, index, before) => {
    const [key = '', earlier] = [keys[index], keys[index - 1]];
    const text = (await objects.read(key))?.bytes.toString() ?? '';
    const other =
      earlier === undefined ? await readFile(join(before, key), 'utf8').catch(() => text) : (await objects.read(earlier))?.bytes.toString();
    await objects.put(key, other ?? '');
    if (earlier !== undefined) await objects.put(earlier, text);
  },
};

/** By default only the newest object of each family is damaged. */
const isWhole = process.env['TEST_DRAWS'] === 'random';

/** What is never lost of a table of five nights, whatever becomes of its metadata. */
export function damagedTests(kind: Kind, place: Place): void {
  test('never has fewer rows after a night that succeeds, whatever became of its metadata', async () => {
    const { table, saved, log } = await fiveNights(kind, place);
    const [before = '', now = ''] = saved.slice(-2);
    const all = await table.keys();
    const outcomes: string[] = [];
    for (const family of families) {
      const keys = all.filter((key) => family.test(key));
      for (const [index, key] of [...keys.entries()].slice(isWhole ? 0 : -1))
        for (const [what, damage] of Object.entries(damages))
          for (const hasState of [true, false])
            for (const mode of ['append', 'replace'] as const) {
              await table.restore(now);
              await writeFile(table.log, log);
              await damage(table, keys, index, before);
              table.hasState = hasState;
              const rows = mode === 'append' ? 'a,b,c,d,e,f' : 'f';
              const outcome = await table.run({ mode, keep: 9 }, rowsOf('20240101', 'f')).then(
                async () => ((await table.rows()).join() === rows ? 'whole' : `LOSES ${(await table.rows()).join()}`),
                ({ code }: { readonly code: string }) => code,
              );
              outcomes.push(`${key} ${what}, ${hasState ? 'with' : 'without'} the state folder, ${mode}: ${outcome}`);
            }
    }
    if (isWhole) console.log(outcomes.join('\n'));
    expect(outcomes.filter((outcome) => !/: (?:whole|E_\w+)$/.test(outcome))).toEqual([]);
  }, 600_000);

  test('is refused when its metadata is older, until that is accepted for all machines', async () => {
    const { table, saved } = await fiveNights(kind, place);
    const isCommit = (key: string) => /^_latest\.json$|\.metadata\.json$|^_delta_log/.test(key);
    const states: readonly (readonly [number, boolean, (key: string) => boolean])[] = [
      // The manifests of later runs are there; or only the log knows those runs.
      [3, false, isCommit],
      [2, true, () => true],
    ];
    for (const [index, hasState, isOlder] of states) {
      await table.restore(saved[4] ?? '', (key) => !isOlder(key));
      await table.restore(saved[index] ?? '', isOlder);
      table.hasState = hasState;
      const rows = ['a', 'b', 'c', 'd', 'e'].slice(0, index + 1);
      for (const mode of ['append', 'replace', 'replace_partitions'] as const) {
        const refused = table.run({ mode, ...(mode === 'replace_partitions' && { partition_by: ['day'] }) }, rowsOf('20240101', 'x'));
        await expect(refused).rejects.toMatchObject({ code: 'E_GATE_VERIFY', message: expect.stringContaining('--to CURRENT') });
      }
      expect(await table.rows()).toEqual(rows);
      const { stores } = table;
      const options = { stores, stateDir: join(table.folder, hasState ? 'state' : 'other') };
      const later = expect.stringMatching(/^run run-\d+ committed after all/);
      expect((await verifyTable(table.path, options)).differences).toEqual([later]);
      await expect(rollbackTable(table.path, { ...options, to: 'run-0001' })).rejects.toMatchObject({ code: 'E_SINK_RUN' });
      const { from, to } = await rollbackTable(table.path, { ...options, to: 'CURRENT' });
      expect([from, to]).toEqual([`run-000${index + 1}`, from]);
      await night(table, 'f');
      expect(await table.rows()).toEqual([...rows, 'f']);
      expect((await verifyTable(table.path, options)).differences).toEqual([]);
    }
  });

  test('is not refused after a rollback, but when that is undone by older metadata', async () => {
    const { table, saved } = await fiveNights(kind, place);
    const options = table.options;
    await rollbackTable(table.path, { ...options, to: 'run-0003' });
    if (kind === 'iceberg') await expireLater(table);
    const returned = await table.saved();
    await night(table, 'f');
    expect(await table.rows()).toEqual(['a', 'b', 'c', 'f']);
    table.hasState = false;
    for (const older of [saved[4], saved[1]]) {
      await table.restore(returned);
      await table.restore(older ?? '', (key) => !key.startsWith('_leadstream/') && !key.startsWith('data/'));
      await expect(night(table, 'g')).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    }
  });

  test('is added to by two machines in turn, each with a log of its own', async () => {
    const table = await Tested.at(kind, place);
    for (const [index, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      table.state = index % 2 === 0 ? 'one' : 'other';
      await night(table, id, 1);
      const found = await verifyTable(table.path, table.options);
      expect(found).toMatchObject({ differences: [], evidence: 'sha256' });
    }
    expect(await table.rows()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('goes on after a night whose removal of expired runs was cut', async () => {
    const table = await Tested.at(kind, place);
    for (const id of ['a', 'b', 'c', 'd']) {
      const isCut = id === 'b' || id === 'c';
      table.stores.fails = (name, key) => isCut && name === 'remove' && key.startsWith('_leadstream/runs/');
      await night(table, id, 0).catch((failure: unknown) => expect([isCut, String(failure)]).toEqual([true, 'Error: dead']));
    }
    expect(await table.rows()).toEqual(['a', 'b', 'c', 'd']);
    await table.check();
  });

  test('goes on after a kill at any moment of two nights', async () => {
    for (let lives = 0, isDead = true; isDead; lives += isWhole ? 1 : 3) {
      const table = await Tested.at(kind, place);
      await night(table, 'a', 1);
      let left = lives;
      table.stores.fails = (name) => (left -= name === 'read' || name === 'list' ? 0 : 1) < 0;
      for (const id of ['b', 'c']) await night(table, id, 1).catch(() => undefined);
      isDead = left < 0;
      table.stores.fails = () => false;
      const rows = await table.rows();
      expect(rows).toEqual(['a', 'b', 'c'].slice(0, rows.length));
      await night(table, 'd', 1);
      expect([lives, await table.rows()]).toEqual([lives, [...rows, 'd']]);
      expect((await verifyTable(table.path, { stores: table.stores })).differences).toEqual([]);
    }
  }, 600_000);
}

/** As another program removes snapshots that are not current any more. */
async function expireLater(table: Tested): Promise<void> {
  const key = (await table.keys('metadata/')).filter((each) => each.endsWith('.metadata.json')).at(-1) ?? '';
  const metadata = JSON.parse((await table.objects.read(key))?.bytes.toString() ?? '');
  const current = metadata.snapshots.findIndex((each: Record<string, unknown>) => each['snapshot-id'] === metadata['current-snapshot-id']);
  await table.objects.put(key, JSON.stringify({ ...metadata, snapshots: metadata.snapshots.slice(0, current + 1) }));
}
