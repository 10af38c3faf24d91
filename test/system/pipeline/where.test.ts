import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { csv, loadPipeline, traceRow } from '../../../src/index.js';
import { runPipeline } from '../../../src/run/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { all, idsWithout, mergedOf, Nights } from '../../support/nights.js';
import { leads, pipelineFor, serviceOf, workplace, type LoggedService } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

/** Ten leads: every second is sold, and the fourth and fifth have no age. */
const rows = leads(10, (index) => ({
  lead_status: index % 2 === 0 ? 'sold' : 'open',
  age: index === 3 || index === 4 ? '' : `${20 + index}`,
}));

let from: LoggedService;
let folder: string;

const run = async (to: string, more = '') => runPipeline(await pipelineFor(from, `from: leads\n${more}\nto:\n${to}`, folder));
const linesOf = async (file: string) => (await readFile(join(folder, file), 'utf8')).trim().split('\n');

describe('where', () => {
  beforeEach(async () => {
    from = await serviceOf({ leads: rows });
    folder = await temporaryFolder();
  });

  test('writes to each sink the rows that are for it, counts the others as filtered, and does not need the column there', async () => {
    const steps = 'steps:\n  - filter: lead_id != "9"\nrejects: { max: 0 }';
    const to = [
      '  - csv: { path: sold.csv, columns: [lead_id], where: "lead_status == \'sold\'" }',
      '  - ndjson: { path: old.ndjson, columns: [lead_id], where: num(age) > 25.0 }',
      '  - parquet: { path: t, columns: [lead_id], where: "lead_status != \'sold\'" }',
      '  - csv: { path: all.csv, columns: [lead_id] }',
    ];
    const report = await run(to.join('\n'), steps);
    expect(await linesOf('sold.csv')).toEqual(['"lead_id"', '"0"', '"2"', '"4"', '"6"', '"8"']);
    // A comparison with null is not true.
    expect(await linesOf('old.ndjson')).toEqual(['{"lead_id":"6"}', '{"lead_id":"7"}', '{"lead_id":"8"}']);
    const found = await duckdb(`SELECT lead_id FROM read_parquet('${folder}/t/*.parquet') ORDER BY lead_id`);
    expect(found.map(({ lead_id }) => lead_id)).toEqual(['1', '3', '5', '7']);
    expect(await linesOf('all.csv')).toHaveLength(10);
    expect(report.sinks.map(({ books: { read, written, filtered } }) => [read, written, filtered])).toEqual([
      [10, 5, 5],
      [10, 3, 7],
      [10, 4, 6],
      [10, 9, 1],
    ]);
    expect(summaryOf(report)).toContain('to[0] csv: 10 read = 5 written + 5 filtered,');
    expect(report.gates.filter(({ gate, outcome }) => gate === 'books' && outcome === 'passed')).toHaveLength(4);
  });

  test.each([
    ['reject', [], { written: 7, filtered: 1, rejected: 2 }],
    ['null', [], { written: 7, filtered: 3, rejected: 0 }],
  ])('under on_error: %s, treats a row for which it fails as a filter does', async (onError, _, books) => {
    const head = `on_error: ${onError}\nrejects: { max: 50% }`;
    const report = await run('  - csv: { path: a.csv, where: int(age) > 20 }\n  - csv: { path: all.csv }', head);
    expect(report.sinks.map((sink) => sink.books)).toMatchObject([books, { written: 10, filtered: 0, rejected: 0 }]);
    expect(report.sinks[0]?.nulled).toBe(onError === 'null' ? 2 : 0);
    expect(report.rejects.rows).toBe(books.rejected);
  });

  test('fails under on_error: fail, names the sink and the row, and publishes nothing', async () => {
    const failed = run('  - csv: { path: a.csv, where: int(age) > 20 }', 'on_error: fail');
    await expect(failed).rejects.toMatchObject({
      code: 'E_STEP_EXPRESSION',
      message: expect.stringMatching(/^to\[0\] csv: condition: .*\b3\b/),
    });
    expect(await visible(folder)).toEqual([]);
  });

  test('goes by the on_error of the sink, if it has one', async () => {
    const to = '  - csv: { path: a.csv, where: int(age) > 20, on_error: fail }\n  - csv: { path: all.csv }';
    await expect(run(to, 'rejects: { max: 50% }')).rejects.toMatchObject({ code: 'E_STEP_EXPRESSION' });
    const { sinks, rejects } = await run(
      '  - csv: { path: a.csv, where: int(age) > 20, on_error: reject }',
      "on_error: 'null'\nrejects: { max: 50% }",
    );
    expect([sinks[0]?.books, rejects.rows]).toMatchObject([{ written: 7, filtered: 1, rejected: 2 }, 2]);
    const cwd = await workplace(`from: leads\nto:\n${to}`);
    const { stdout } = await cli(['explain-row', 'p.yaml', '3'], { cwd, env: from.env });
    expect(stdout).toContain('to[0] csv: failed');
  });

  test.each([
    ['too few rows', 'min_rows: 6', 'to[0] csv: expect.min_rows: expected at least 6 rows, found 5'],
    ['too many nulls', 'max_null: { age: 20% }', undefined],
    [
      'a larger share of nulls than all rows have',
      'max_null: { age: 15% }',
      'to[0] csv: expect.max_null.age: at most 15% of rows may be empty',
    ],
    ['a value that only other rows may have', 'accepted_values: { lead_status: [sold] }', undefined],
  ])('has the gates look at the rows of its sink: %s', async (_, gate, message) => {
    const ended = run('  - csv: { path: a.csv, where: "lead_status == \'sold\'" }', `expect: { ${gate} }`);
    if (message === undefined) return expect((await ended).sinks).toMatchObject([{ total: 5 }]);
    await expect(ended).rejects.toMatchObject({ code: 'E_GATE_EXPECT', message: expect.stringContaining(message) });
    return expect(await visible(folder)).toEqual([]);
  });

  test('still has the gates look at all rows for sinks without one', async () => {
    const to = '  - csv: { path: a.csv, where: "lead_status == \'sold\'" }\n  - csv: { path: b.csv }';
    const message = expect.stringMatching(/^expect\.accepted_values\.lead_status: .* in 5 of 10 rows/);
    await expect(run(to, 'expect: { accepted_values: { lead_status: [sold] } }')).rejects.toMatchObject({ message });
  });

  test('warns if it keeps no row', async () => {
    const { warnings } = await run('  - csv: { path: a.csv, where: "lead_status == \'Sold\'" }\n  - csv: { path: b.csv }');
    const message = 'to[0] csv: where: none of 10 rows is kept; expect.min_rows refuses that';
    expect(warnings).toContainEqual({ code: 'W_STEP_EMPTY', message });
  });

  test('is shown by explain and explain-row', async () => {
    const to = '  - csv: { path: a.csv, where: "lead_status == \'sold\'" }\n  - stdout: { where: int(age) > 0 }\n  - csv: { path: b.csv }';
    const cwd = await workplace(`from: leads\nto:\n${to}`);
    const { env } = from;
    expect((await cli(['explain', 'p.yaml'], { cwd, env })).stdout).toContain("│    only rows where lead_status == 'sold'\n");
    const { stdout } = await cli(['explain-row', 'p.yaml', '3'], { cwd, env });
    expect(stdout).toMatch(
      /\n1 row for the outputs\n {2}to\[0\] csv: dropped \(1 filtered\)\n {2}to\[1\] stdout: rejected \(1 rejected\): field condition .*\n$/,
    );
    const { sinks } = await traceRow(await loadPipeline('p.yaml', { cwd, env }), ['2']);
    expect(sinks.map(({ at, outcome }) => [at, outcome])).toEqual([
      ['to[0] csv', 'passed'],
      ['to[1] stdout', 'passed'],
    ]);
  });

  test('is refused in programs, which filter', async () => {
    const options = { path: join(folder, 'a.csv'), where: 'true' };
    await expect(csv(options)).rejects.toMatchObject({ code: 'E_SINK_CONFIG', message: expect.stringContaining('filter') });
  });
});

const merging = (status: string, more = '') =>
  `from: leads\nto:\n  - parquet: { path: t, mode: merge, on_missing: delete, max_deleted: 20%${more}, where: "lead_status != '${status}'" }`;

test('where goes with since, which counts what the nights filtered', async () => {
  const body = `from: leads\nsince: { list: grows_at_end }\nto:\n  - parquet: { path: t, mode: append, where: "lead_status == 'sold'" }`;
  const nights = await Nights.of({ body, ids: () => Promise.resolve([]) });
  const list = leads(1_000, (index) => ({ lead_status: index % 2 === 0 ? 'sold' : 'open' }));
  await nights.run({ list: list.slice(0, 900), limit: 50 });
  const { scope, sinks } = await nights.run({ list, limit: 50 });
  // From two pages before the end of the first night.
  expect({ scope, sinks }).toMatchObject({
    scope: 'since',
    sinks: [{ total: 500, books: { read: 200, written: 50, filtered: 100, unchanged: 50 } }],
  });
});

describe('where of a merge that deletes', () => {
  const status = (index: number) => (index < 5 ? { lead_status: 'returned' } : index < 9 ? { lead_status: 'lost' } : {});
  const list = leads(250, status);
  const ids = (at: string) => duckdb(`SELECT lead_id::int AS id FROM read_parquet('${at}/t/*.parquet') ORDER BY id`);

  test('lets the rows that it leaves out go, but not after it has changed', async () => {
    const nights = await Nights.of({ body: merging('returned'), ids });
    await nights.run({ list: all });
    expect(mergedOf(await nights.run({ list }))).toMatchObject({ changed: 4, deleted: 5 });
    await expect(nights.run({ list }, merging('lost'))).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout(0, 1, 2, 3, 4));
    expect(mergedOf(await nights.run({ list }, merging('lost'), { acceptDeletes: true }))).toMatchObject({ inserted: 5, deleted: 4 });
    expect(await nights.ids()).toEqual(idsWithout(5, 6, 7, 8));
  });

  test.each(['plain', 'iceberg', 'delta'])('ends the versions of rows that it leaves out (%s)', async (table) => {
    const nights = await Nights.of({ body: merging('returned', `, history: true, table: ${table}`), ids });
    await nights.run({ list: all });
    expect(mergedOf(await nights.run({ list }))).toMatchObject({ before: 250, deleted: 5, closed: 9, changed: 4 });
  });
});
