import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Row } from '../../../src/core/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { commitUnlogged } from '../../../src/store/index.js';
import { pageOf } from '../../../src/flow/index.js';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { batchOfTexts, dictionaryBatches } from '../../support/batches.js';
import { engineNames, engines } from '../../../src/parquet/index.js';
import { fileOf, output } from '../../support/parquet-files.js';
import { column, commitOf, recording } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

const text = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.constantFrom('', 'Yes', 'No', 'é', '😀', '__HIVE_DEFAULT_PARTITION__', '../..', 'x'.repeat(63), 'y'.repeat(64), 'z'.repeat(65)),
  fc.constantFrom(255, 256, 257, 258, 259, 260, 1000).map((length) => 'ab'.repeat(length)),
);
const row = fc.record({
  id: fc.integer({ min: 0, max: 9999 }).map(String),
  name: text,
  state: fc.constantFrom('CA', 'NY', '', 'ñ/x'),
  score: fc.oneof(fc.integer().map(String), fc.constant('')),
  note: fc.option(text),
});
const rows = fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 60 });
const columns = [column('id', 'text', { source: 'id' }), column('name'), column('state'), column('score', 'integer'), column('note')];

const names = columns.map(({ name }) => name);
const asTable = (of: readonly Row[]) => batchOfTexts(of, names);

/** The same as codes, whose dictionaries grow from page to page. */
function coded(shared: boolean) {
  const table = dictionaryBatches(shared);
  return (of: readonly Row[]) => table(of, names);
}

/** Pages of ten rows. */
function pagesOf(of: readonly Row[], content: (some: readonly Row[]) => RecordBatch): readonly RecordBatch[] {
  return Array.from({ length: Math.ceil(of.length / 10) }, (_, page) => content(of.slice(page * 10, page * 10 + 10)));
}

/** Writes a run of the table `t`. @returns What it counted, and the contents of its Parquet files. */
async function run(base: string, runId: string, options: Partial<ParquetOptions>, contents: readonly RecordBatch[]) {
  const context = { ...recording(base, runId), key: ['id'] };
  const writer = await parquet({ path: 't', row_group_rows: 16, ...options }, context);
  await writer.begin(columns);
  for (const [index, content] of contents.entries()) await writer.write(pageOf(index + 1, content, { release: () => undefined }));
  const prepared = await writer.prepare();
  const { rows: written, unchanged, changed } = prepared;
  await commitUnlogged(await commitOf(prepared));
  await prepared.cleanup();
  const names = (await readdir(join(base, 't'), { recursive: true })).filter((name) => name.endsWith('.parquet')).sort();
  const files = await Promise.all(names.map(async (name) => [name, (await readFile(join(base, 't', name))).toString('base64')]));
  return { written, unchanged, changed, rejects: context.rejects, files };
}

const sorted = { sort_by: ['name desc', 'id'] };

test.each<[string, Partial<ParquetOptions>]>([
  ['as they come', {}],
  ['with row groups closed by their texts', { row_group_rows: 10_000, row_group_bytes: 100 }],
  ['sorted', sorted],
  ['partitioned', { partition_by: ['state'] }],
  ['partitioned by two columns, and sorted', { partition_by: ['score', 'state'], ...sorted }],
  ['as texts only', { types: 'text' }],
  ['appended', { mode: 'append' }],
  ['appended into partitions', { mode: 'append', partition_by: ['state'] }],
])('a page of columns gives the files that its rows give, run after run, %s', async (_how, options) => {
  await fc.assert(
    fc.asyncProperty(rows, rows, async (first, second) => {
      const folder = await temporaryFolder();
      const runs = async (name: string, content: (of: readonly Row[]) => RecordBatch) => {
        const base = join(folder, name);
        return [await run(base, 'run-1', options, pagesOf(first, content)), await run(base, 'run-2', options, pagesOf(second, content))];
      };
      const expected = await runs('rows', batchFromRows);
      for (const [name, content] of Object.entries({ table: asTable, shared: coded(true), coded: coded(false) }))
        expect(await runs(name, content)).toEqual(expected);
    }),
    { numRuns: 2 },
  );
});

describe.each(engineNames.map((name) => [name, engines[name][0]] as const))('a file by %s, %s', (engine, compression) => {
  const outputs = columns.map(({ name }) => output(name, 'text'));

  test.each([
    ['as they come', {}],
    ['in row groups of different sizes', { groupRows: [7, 1, 20] }],
    ['as one of many', { many: true }],
    ['sorted', { sortedBy: [{ column: 'name', descending: false }] }],
  ])('has the same bytes for texts that come as bytes, %s', async (_how, options) => {
    const folder = await temporaryFolder();
    const of = [...fc.sample(row, { numRuns: 700, seed: 1 })];
    const one = await fileOf(folder, outputs, of, { engine, compression, ...options });
    const other = await fileOf(folder, outputs, of, { engine, compression, ...options, texts: true });
    expect((await readFile(other)).equals(await readFile(one))).toBe(true);
  });
});

test('texts and values may take turns in a column', async () => {
  const folder = await temporaryFolder();
  const of = Array.from({ length: 60 }, (_, index) => ({
    a: index % 20 < 10 ? `é${index}` : index % 3 === 0 ? null : 'x'.repeat(index * 9),
  }));
  const one = await fileOf(folder, [output('a', 'text')], of, { groupRows: 10 });
  const other = await fileOf(folder, [output('a', 'text')], of, { groupRows: 10, texts: true });
  expect((await readFile(other)).equals(await readFile(one))).toBe(true);
});
