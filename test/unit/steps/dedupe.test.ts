import fc from 'fast-check';
import type { Row } from '../../../src/core/index.js';
import { dedupe } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, otherSide, pages, parsed, rowsThrough, runtime, sample, through } from './support.js';

test('keeps the first row of every key, and all rows whose key lacks a part, whenever it is subscribed to', async () => {
  const part = fc.constantFrom('', 'a', 'ab', 'b', 'bb', '1:a', ':', null);
  const lists = fc.array(fc.array(fc.record({ a: part, b: part, n: fc.nat() }), { minLength: 5, maxLength: 30 }), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(lists, async (rows) => {
      const seen = new Set<string>();
      const isNew = ({ a, b }: Row) => !a || !b || seen.size < seen.add(JSON.stringify([a, b])).size;
      const expected = rows.map((list) => list.filter(isNew));
      const step = dedupe(['a', 'b']);
      for (let time = 0; time < 2; time += 1) expect((await through(step, pages(...rows))).map((page) => page.rows)).toEqual(expected);
    }),
  );
});

test('compares typed values by what they are', async () => {
  const day = (text: string) => ({ at: new Date(text) });
  const rows = [day('2024-01-01T00:00:00Z'), day('2024-01-01T00:00:00.001Z'), day('2024-01-01T00:00:00Z')];
  expect(await rowsThrough(dedupe(['at']), rows)).toEqual(rows.slice(0, 2));
});

test('goes by the key of the collection unless told otherwise', async () => {
  const rows = [sample('leads', { lead_id: '1', email: 'x' }), sample('leads', { lead_id: '2', email: 'x' })];
  expect(await rowsThrough(opened(steps.dedupe, {}), rows)).toHaveLength(2);
  expect(await rowsThrough(opened(steps.dedupe, { by: ['email'] }), rows)).toHaveLength(1);
});

test('keeps no keys of rows that a checked read gives once each, and any others all the same', async () => {
  const context = runtime({ distinct: true });
  const input = pages([sample('leads', { lead_id: '1', email: 'x' }), sample('leads', { lead_id: '2', email: 'x' })]);
  for (const config of [{}, { by: ['lead_id'] }]) expect((await through(opened(steps.dedupe, config, context), input))[0]).toBe(input[0]);
  for (const by of [['email'], ['email', 'uid']])
    expect((await through(opened(steps.dedupe, { by }, context), input))[0]?.rows).toEqual(input[0]?.rows.slice(0, 1));
});

test('keeps the row with the greatest value by its declared type, and of several the first; what does not cast is rejected', async () => {
  const ages = ['9', '18', '18', 'x', '', null, 'y'];
  const emails = ['a', 'A', 'a', 'a', 'b', ' B', ''];
  const rows = ages.map((age, index) => sample('leads', { lead_id: String(index), age, email: emails[index] ?? null }));
  const config = { by: ['email'], normalize: 'casefold', keep: { max: 'age' } };
  const context = runtime();
  const out = await through(blockingOf(config, context), otherSide(rows.slice(0, 3), rows.slice(3)));
  expect(out.flatMap((page) => page.rows).map(({ lead_id }) => lead_id)).toEqual(['1', '4']);
  expect(context.tally).toMatchObject({ duplicates: 3, rejected: 2, nulled: 0 });
});

/** Opens a configuration that makes the step take all rows. */
function blockingOf(config: unknown, context = runtime()) {
  const step = steps.dedupe.variant?.(parsed(steps.dedupe, config));
  if (!step) throw new Error('it takes no rows first');
  return opened(step, config, context);
}

describe('by any of several keys', () => {
  const any = [['a'], ['b', 'c']];

  /** Joins the groups that a row shares a key with, until it is in one. */
  function modelOf(rows: readonly Row[]): readonly (readonly Row[])[] {
    const isBlank = (value: Row[string]) => value === null || String(value).trim() === '';
    const isSame = (one: Row, other: Row) =>
      any.some((key) => key.every((name) => !isBlank(one[name] ?? null) && one[name] === other[name]));
    return rows.reduce<readonly Row[][]>((groups, row) => {
      const [joined, others] = [true, false].map((is) => groups.filter((group) => group.some((each) => isSame(each, row)) === is));
      return [...(others ?? []), [...(joined ?? []).flat(), row]];
    }, []);
  }

  test('keeps the first row of all that share a key, also through later rows', async () => {
    const value = fc.constantFrom('', ' ', null, 'a', 'A', 'b', 'bb', '1:a', 7n);
    const lists = fc.array(fc.array(fc.record({ a: value, b: value, c: fc.constantFrom('x', 'y', null) }), { maxLength: 12 }), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(lists, async (drawn) => {
        const rows = drawn.map((list, page) => list.map((row, index) => ({ ...row, n: 100 * page + index })));
        const context = runtime();
        const out = await through(blockingOf({ any, max_group: 50 }, context), otherSide(...rows));
        const groups = modelOf(rows.flat());
        const firsts = groups.map((group) => Math.min(...group.map(({ n }) => Number(n))));
        expect(out.flatMap((page) => page.rows)).toEqual(rows.flat().filter(({ n }) => firsts.includes(n)));
        expect(context.tally.duplicates).toBe(rows.flat().length - groups.length);
      }),
    );
  });

  test('keeps the row with the greatest value of them, and folds case', async () => {
    const people = [
      ['1', 'x', '1'],
      ['', 'Y', '9'],
      ['1', ' y', '4'],
      ['2', 'z', '5'],
      ['', 'Z', '5'],
    ];
    const rows = people.map(([cell_phone = '', email = '', age = '']) => sample('leads', { cell_phone, email, age }));
    const config = { any: [['cell_phone'], ['email']], normalize: 'casefold', keep: { max: 'age' } };
    const out = await through(blockingOf(config), otherSide(rows.slice(0, 2), rows.slice(2)));
    expect(out.flatMap((page) => page.rows)).toEqual([rows[1], rows[3]]);
  });

  test.each([2, 20])('refuses groups of more than %d rows with their size, also those that later rows join', async (max_group) => {
    const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ a: `${n}`, b: `${n}`, c: 'x' }));
    const between = (count: number) =>
      rowsOf(count)
        .map(({ a, ...row }) => ({ ...row, a: `${Number(a) + 1}` }))
        .toReversed();
    const half = max_group / 2;
    const allowed = otherSide([...rowsOf(half), ...between(half - 1)], [{ a: '0', b: '', c: '' }]);
    expect(await through(blockingOf({ any, max_group }), allowed)).toMatchObject([{ rows: [{ a: '0' }] }]);
    const refused = through(blockingOf({ any, max_group }), otherSide(rowsOf(15_000), between(14_999)));
    await expect(refused).rejects.toMatchObject({
      code: 'E_GATE_GROUP',
      message: `steps[1] tested: row ${half} of page 2 is in a group of 29,999 rows that share values by any; max_group is ${max_group}`,
    });
  });
});

describe('under casefold', () => {
  const rows = [
    { email: 'Ann@X.org' },
    { email: ' ann@x.ORG ' },
    { email: 'STRASSE' },
    { email: 'straße' },
    { email: 'ann@x.org.' },
    { email: 'STRAẞE' },
  ];

  test('white space around a key and its case do not count, as in join; the first row stays as it is', async () => {
    expect(await rowsThrough(dedupe(['email'], { normalize: 'casefold' }), rows)).toEqual([rows[0], rows[2], rows[4]]);
  });

  test('rows that a checked read gives once each are compared all the same', async () => {
    const context = runtime({ distinct: true });
    const leads = [sample('leads', { lead_id: 'a' }), sample('leads', { lead_id: 'A' })];
    expect(await rowsThrough(opened(steps.dedupe, { normalize: 'casefold' }, context), leads)).toEqual(leads.slice(0, 1));
  });
});
