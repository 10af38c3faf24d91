import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Manifest } from '../../../src/lake/manifest.js';
import { PointerFormat } from '../../../src/lake/pointer.js';
import { intentKey, manifestKey } from '../../../src/lake/store-table.js';
import { compactTests } from '../../contracts/compact.js';
import { damagedTests } from '../../contracts/damaged.js';
import { storeTableTests, tableTests } from '../../contracts/store-tables.js';
import { here, rowsOf, Tested } from '../../support/tested-table.js';
import { filesBelow } from '../../support/temporary.js';

describe.each([['plain', 'folder'], ...here] as const)('a table (%s) in a %s', tableTests);
describe.each(here)('a table (%s) in a %s', storeTableTests);
describe.each([['plain', 'folder'], ...here] as const)('a table (%s) in a %s that is compacted', compactTests);
describe.each([['plain', 'disk'], ...here] as const)('a table of five nights (%s) in a %s', damagedTests);

test('a run that cannot say that it begins leaves nothing in its scratch folder', async () => {
  const table = await Tested.at('delta', 'folder');
  table.stores.fails = (name, key) => name === 'put' && key.startsWith('_leadstream/intents/');
  await expect(table.run({}, rowsOf('20240101', 'a'))).rejects.toThrow('dead');
  expect(await filesBelow(join(table.folder, 'scratch'))).toEqual([]);
});

test('a run that was refused while the table is opened has not committed', async () => {
  const table = await Tested.at('delta', 'folder');
  await table.run({}, rowsOf('20240101', 'a'));
  const keys = [manifestKey('run-9'), intentKey('run-9')];
  for (const key of keys) await table.objects.put(key, '{}');
  table.stores.fails = (name, key) => {
    if (name === 'list' && key === '_leadstream/intents/') for (const each of keys) rmSync(join(table.path, each), { force: true });
    return false;
  };
  await table.run({}, rowsOf('20240101', 'b'));
  expect(await table.rows()).toEqual(['b']);
});

test('a plain table forgets a run with more files than a call takes arguments', async () => {
  const table = await Tested.at('plain', 'disk');
  await table.run({}, rowsOf('20240101', 'a'));
  const text = (await table.objects.read(manifestKey('run-0001')))?.bytes.toString() ?? '';
  const file = (JSON.parse(text) as Manifest).files.map((each) => JSON.stringify(each)).join();
  const files = Array.from({ length: 150_000 }, (_, index) => file.replace('part-00000', `part-${index}`));
  await table.objects.put(
    manifestKey('run-0000'),
    text.replace('run-0001', 'run-0000').replace(/"files": \[[^\]]*\]/, `"files":[${files.join()}]`),
  );
  const format = new PointerFormat(table.objects);
  const version = await format.load();
  expect(version && (await format.expire(version, 0, ['run-0000']))).toHaveLength(150_000);
});
