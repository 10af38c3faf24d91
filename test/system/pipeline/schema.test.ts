import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runPipeline, summaryOf } from '../../../src/pipeline/index.js';
import { outputColumns, refuseChanges } from '../../../src/pipeline/gates/schema.js';
import { publishedManifest } from '../../../src/lake/index.js';
import { duckdb } from '../../support/duckdb.js';
import { serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';
import { lead, leads, pipelineFor, runIn } from '../../support/pipelines.js';

/** One table over several nights. */
async function nights(steps = '') {
  const folder = await temporaryFolder();
  const columns = async () => (await publishedManifest(join(folder, 't')))?.schema.map(({ original }) => original) ?? [];
  return {
    folder,
    columns,
    night: async (rows: readonly object[], more = '', changed = steps) => {
      const from = await serviceOf({ leads: rows.map((row) => ({ ...row })) });
      const body = `from: leads\n${changed}to:\n  - parquet: { path: t }\n${more}`;
      return runPipeline(await pipelineFor(from, body, folder));
    },
  };
}

const news = (warnings: readonly { code: string; message: string }[]) =>
  warnings.filter(({ code }) => code === 'W_SOURCE_FIELD_NEW').map(({ message }) => message);
const late = () => leads(150, (index) => (index === 120 ? { 'Late Field': 'x' } : {}));

describe('undeclared fields', () => {
  test('of page 1 are columns from the first run on, and said to be', async () => {
    const { night, columns } = await nights();
    const { warnings } = await night([lead(1, { 'New Field': 'x' })]);
    expect(news(warnings)).toEqual(['leads: the service has an undeclared field "New Field"; it is the column new_field from this run on']);
    expect(await columns()).toContain('New Field');
  });

  test('keep their column when the service leaves them out, and are news no more', async () => {
    const { night, columns, folder } = await nights();
    await night([lead(1, { 'New Field': 'x' })]);
    const { warnings, findings } = await night([lead(1), lead(2)]);
    expect(news(warnings)).toEqual([]);
    expect(findings.late).toEqual([]);
    expect(await columns()).toContain('New Field');
    expect(await duckdb(`select new_field from '${folder}/t/*.parquet'`)).toEqual([{ new_field: null }, { new_field: null }]);
  });

  test('whose names are alike keep their columns, in whatever order they come', async () => {
    const { night, folder } = await nights();
    for (const fields of [{ 'Foo Bar': 'spaced', foo_bar: 'joined' }, { foo_bar: 'joined', 'Foo Bar': 'spaced' }, { foo_bar: 'joined' }]) {
      await night([lead(1, fields)]);
      const expected = { foo_bar: 'Foo Bar' in fields ? 'spaced' : null, foo_bar_2: 'joined' };
      expect(await duckdb(`select foo_bar, foo_bar_2 from '${folder}/t/*.parquet'`)).toEqual([expected]);
    }
  });

  test('that come after page 1 are told, and are columns of the next run wherever they come then', async () => {
    const { night, columns, folder } = await nights();
    const first = await night(late());
    expect(first.findings.late).toEqual(['Late Field']);
    expect(news(first.warnings)[0]).toContain('it becomes a column in the next run');
    expect(await columns()).not.toContain('Late Field');
    const second = await night(late());
    expect(second.findings.late).toEqual([]);
    expect(await columns()).toContain('Late Field');
    expect(await duckdb(`select count(late_field)::int as n from '${folder}/t/*.parquet'`)).toEqual([{ n: 1 }]);
  });

  test.each([
    ['a mask of all that is personal', 'mask: { preset: personal }'],
    ['a selection', 'select: [lead_id]'],
  ])('that come after page 1 are no columns of the next run after %s, and it is not said that they are', async (_, step) => {
    const { night, columns } = await nights(`steps:\n  - ${step}\n`);
    const { warnings, findings } = await night(late());
    expect(findings.late).toEqual(['Late Field']);
    expect(news(warnings)).toEqual(['leads: the service has an undeclared field "Late Field"; the steps leave it out']);
    await night(late());
    expect(await columns()).not.toContain('Late Field');
  });

  test('do not bring back the columns of a step that was taken away', async () => {
    const { night, columns } = await nights('steps:\n  - derive: { zip_place: zip_city(zipcode) }\n');
    await night([lead(1, { zipcode: '90210' })]);
    expect(await columns()).toContain('zip_place');
    await night([lead(1, { zipcode: '90210' })], '', '');
    expect(await columns()).not.toContain('zip_place');
  });

  test('are said to be left out when the steps select others', async () => {
    const { night } = await nights('steps:\n  - select: [lead_id]\n');
    expect(news((await night([lead(1, { odd: 'x' })])).warnings)[0]).toContain('the steps leave it out');
  });

  test.each([
    ['from page 1 on', 1],
    ['later', 150],
  ])('that have the name of a column of the steps give way, %s, and are said to be left out', async (_when, first) => {
    const lists = {
      leads: leads(200, (index) => ({
        bridge_id: index === 199 ? 'none' : '1',
        ...(index >= first - 1 && { bridge_title: 'of the lead' }),
      })),
      bridges: [{ id: '1', title: 'of the bridge' }],
    };
    const [from, folder] = [await serviceOf(lists), await temporaryFolder()];
    const join = 'steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }';
    const { warnings } = await runIn(from, `from: leads\n${join}\nto:\n  - parquet: { path: t }`, folder);
    expect(await duckdb(`select bridge_title, count(*)::int as n from '${folder}/t/*.parquet' group by all order by n`)).toEqual([
      { bridge_title: null, n: 1 },
      { bridge_title: 'of the bridge', n: 199 },
    ]);
    expect(news(warnings)).toEqual([
      'leads: the service has an undeclared field "bridge_title"; ' +
        'the steps create their own column bridge_title, so it is left out; rename that column to keep both',
    ]);
  });

  test('of collections with credentials are withheld, and said to be', async () => {
    const [from, folder] = [await serviceOf({ bridges: [{ id: '1', title: 'A', odd_token: 'odd-secret' }] }), await temporaryFolder()];
    const { warnings } = await runIn(from, 'from: bridges\nto:\n  - csv: { path: b.csv }', folder);
    expect(news(warnings)).toEqual(['bridges: the service has an undeclared field "odd_token"; undeclared fields of bridges are withheld']);
    expect(await readFile(join(folder, 'b.csv'), 'utf8')).not.toContain('odd');
  });

  test('are summed up when there are very many', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field ${index}`, 'x']));
    const [from, folder] = [await serviceOf({ leads: [lead(1, many)] }), await temporaryFolder()];
    const { warnings } = await runIn(from, 'from: leads\nto:\n  - csv: { path: l.csv }', folder);
    expect(news(warnings)).toHaveLength(21);
    expect(news(warnings).at(-1)).toBe('leads: the service has 10 more undeclared fields');
  });
});

describe('a declared field', () => {
  const users = (more: object) =>
    serviceOf({
      users: [
        { uid: '1', email: 'a@b.c', ...more },
        { uid: '2', email: 'd@e.f' },
      ],
    });
  const body = 'from: users\nto:\n  - csv: { path: u.csv }';

  test('that no row has is null, warned of and told in the summary', async () => {
    const [from, folder] = [await users({}), await temporaryFolder()];
    const report = await runIn(from, body, folder);
    expect(report.warnings).toEqual([
      { code: 'W_SOURCE_FIELD_GONE', message: 'users: no row had the declared field affid; its column is null throughout' },
    ]);
    expect(report.findings).toMatchObject({ gone: ['affid'], missing: { affid: 2 } });
    expect(summaryOf(report)).toContain('WARNING: users: no row had the declared field affid; its column is null throughout');
    expect(await readFile(join(folder, 'u.csv'), 'utf8')).toBe('uid,email,affid\n1,a@b.c,\n2,d@e.f,\n');
  });

  test('that some row has is only counted where it is missing', async () => {
    const report = await runIn(await users({ affid: '' }), body, await temporaryFolder());
    expect(report.warnings).toEqual([]);
    expect(report.findings).toMatchObject({ gone: [], missing: { affid: 1 } });
  });

  test('of a list without rows is not gone', async () => {
    const report = await runIn(await serviceOf({ users: [] }), body, await temporaryFolder());
    expect(report.findings.gone).toEqual([]);
  });

  test('that is gone fails a strict run', async () => {
    const [from, folder] = [await users({}), await temporaryFolder()];
    const strict = { ...(await pipelineFor(from, body, folder)) };
    await expect(runPipeline({ ...strict, connection: { ...strict.connection, strict: true } })).rejects.toMatchObject({
      code: 'E_GATE_STRICT',
      message: expect.stringContaining('W_SOURCE_FIELD_GONE'),
    });
  });
});

describe('schema: freeze', () => {
  const freeze = 'schema: freeze';

  test('passes the first run, and every one with the same columns', async () => {
    const { night } = await nights();
    await night([lead(1, { odd: 'x' })], freeze);
    await night([lead(1)], freeze);
  });

  test.each([
    ['a new field of page 1', [lead(1, { odd: 'x' })], '', 'found new: odd'],
    ['a new field after page 1', late(), '', 'found new: late_field'],
    ['a column that a step adds', [lead(1)], 'steps:\n  - derive: { place: zip_city(zipcode) }\n', 'found new: place'],
    ['a column that a step takes away', [lead(1)], 'steps:\n  - mask: { age: drop }\n', 'found missing: age'],
    [
      'a column of another type',
      [lead(1)],
      'steps:\n  - cast: { types: { age: decimal } }\n',
      'found changed type: age (integer before, decimal now)',
    ],
    ['all of these', [lead(1, { odd: 'x' })], 'steps:\n  - mask: { age: drop, sin_number: drop }\n', 'found new: odd; missing: '],
  ])('refuses %s', async (_what, rows, steps, message) => {
    const { night, columns } = await nights();
    await night([lead(1)]);
    const before = await columns();
    await expect(night(rows, freeze, steps)).rejects.toMatchObject({
      code: 'E_GATE_SCHEMA',
      exit: 65,
      message: expect.stringContaining(`to[0] parquet: schema: the columns of the last run are frozen, ${message}`),
    });
    expect(await columns()).toEqual(before);
    await night(rows, '', steps);
  });

  test('compares what a sink writes: under its names, of its columns, in its types', () => {
    const column = { name: 'age', original: 'AGE', type: 'integer', cast: false, sensitivity: 'plain' } as const;
    const other = { ...column, name: 'late_field', original: 'Late Field', type: 'text' } as const;
    expect(outputColumns({ naming: 'original', types: 'text' }, [column])).toEqual([
      { name: 'AGE', field: 'age', original: 'AGE', type: 'text' },
    ]);
    expect(outputColumns({ columns: ['age'] }, [other, column])).toEqual([{ name: 'age', field: 'age', original: 'AGE', type: 'integer' }]);
    expect(outputColumns({ path: 'x' }, [other])).toEqual([
      { name: 'late_field', field: 'late_field', original: 'Late Field', type: 'text' },
    ]);
  });

  test('knows undeclared fields by the name that the service gives them', () => {
    const earlier = { columns: [{ name: 'odd', field: 'odd', original: 'Odd', type: 'text' }] } as const;
    const columns = [{ name: 'odd_2', field: 'odd_2', original: 'Odd', type: 'text' }] as const;
    expect(refuseChanges([{ at: 'x', columns, earlier }], new Set(['Odd']))).toEqual([]);
    expect(refuseChanges([{ at: 'x', columns, earlier }], new Set())[0]?.message).toContain('new: odd_2; missing: odd');
  });
});
