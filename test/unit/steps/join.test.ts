import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type Observable, from, lastValueFrom, of } from 'rxjs';
import { emptyTally, fromPages, type Page } from '../../../src/flow/index.js';
import type { Row } from '../../../src/core/index.js';
import { join, type JoinOptions } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import type { Choice } from '../../../src/steps/join/build-side.js';
import { pageWithoutRows, batchOfTexts } from '../../support/batches.js';
import { leads, opened, otherSide, planned, rowsThrough, runtime, sample } from './support.js';
import { heldWarnings } from '../../support/warnings.js';

type Options = JoinOptions<Row, Row, 'b', string>;

/** Joins with right rows on `id`, adding `v`, unless told otherwise. */
function joining(right: readonly Row[], options: Partial<Options> = {}) {
  return join<Row, Row, 'b', string>(from(otherSide(right)), { on: { id: 'id' }, as: 'b', select: ['v'], ...options });
}

function joined(left: readonly Row[], right: readonly Row[], options: Partial<Options> = {}): Promise<readonly Row[]> {
  return rowsThrough<Row, Row>(joining(right, options), left);
}

async function tallyOf(left: readonly Row[], right: readonly Row[], options: Partial<Options> = {}) {
  const stream = fromPages(from(otherSide(left))).pipe(joining(right, options));
  await lastValueFrom(stream.rows$);
  return stream.steps?.[0]?.tally;
}

/** The `v` of the one row that `pick` takes of several that match. */
async function picked(pick: Choice, right: readonly Row[], key?: readonly string[]): Promise<unknown> {
  const sides = [[{ id: '1' }], right.map((row) => ({ id: '1', ...row }))] as const;
  const [row] = await joined(...sides, { pick, key });
  return row?.b_v;
}

describe('join', () => {
  // Of joins without a match, which many are here.
  heldWarnings();

  describe('a name that is taken', () => {
    const taken = { code: 'E_STEP_CONFIG', message: expect.stringContaining("there is already a field 'b_v'") };

    test.each<[string, readonly Row[], readonly Row[]]>([
      ['instead of overwritten', [{ id: '1', b_v: 'own' }], [{ id: '1', v: 'other' }]],
      ['where no row matches', [{ id: '1', b_v: 'own' }], []],
      ['where only some rows have it', [{ id: '1' }, { id: '1', b_v: 'own' }], [{ id: '1', v: 'other' }]],
    ])('is refused %s', async (_where, left, right) => {
      await expect(joined(left, right)).rejects.toMatchObject(taken);
    });

    test('is refused in pages by columns', async () => {
      const step = join<Row, Row, 'b', string>(from(otherSide([{ id: '1', v: 'other' }])), { on: { id: 'id' }, as: 'b', select: ['v'] });
      const pages$ = of(pageWithoutRows(1, batchOfTexts([{ id: '1', b_v: 'own' }])));
      await expect(lastValueFrom(pages$.pipe(step))).rejects.toMatchObject(taken);
    });

    test('is refused of two joins of one name', async () => {
      const other = () => from(otherSide<Row>([{ id: '1', v: 'x' }]));
      const options: Options = { on: { id: 'id' }, as: 'b', select: ['v'] };
      const twice = (pages$: Observable<Page<Row>>) => pages$.pipe(join(other(), options), join(other(), options));
      await expect(rowsThrough<Row, Row>(twice, [{ id: '1' }])).rejects.toMatchObject(taken);
    });

    test('goes to the join in a file, where only the service can have brought a field of that name', async () => {
      const config = { with: 'bridges', on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] };
      const [row] = await rowsThrough(opened(steps.join, config), [sample('leads', { bridge_id: '4', bridge_title: 'undeclared' })]);
      expect(row).toMatchObject({ bridge_title: 'Auto' });
    });
  });

  describe('matching', () => {
    test.each([
      ['New York', '  new york\t'],
      ['Gießen', 'GIESSEN'],
      ['ΟΔΟΣ', 'οδοσ'],
      ['ﬁt', 'FIT'],
    ])('folds %j and %j into one under casefold, whichever side they are on', async (one, other) => {
      const options = { normalize: 'casefold' } as const;
      expect(await joined([{ id: one }], [{ id: other, v: 'x' }], options)).toMatchObject([{ id: one, b_v: 'x' }]);
      expect(await joined([{ id: other }], [{ id: one, v: 'x' }], options)).toMatchObject([{ id: other, b_v: 'x' }]);
    });

    test.each(['__proto__', 'constructor', 'toString'])('takes a key like %s for any other text', async (id) => {
      const out = await joined([{ id }, { id: 'x' }], [{ id, v: 'found' }]);
      expect(out.map(({ b_v }) => b_v)).toEqual(['found', null]);
    });
  });

  describe('whatever the rows and pages are', () => {
    const field = fc.constantFrom('', ' ', 'a', 'b', 'ab', ' A', 'ß', 'SS', null);
    const part = fc.constantFrom('', 'bc', 'c', null);
    const number = fc.constantFrom('1', '2', '10', '', 'x');
    const right = fc.record({
      id: field,
      part,
      k: fc.constantFrom('1', '2', '3', ''),
      n: number,
      v: fc.oneof(fc.string(), fc.constantFrom(null, 7)),
    });
    const draw = fc.record({
      pages: fc.array(fc.array(right, { maxLength: 6 }), { maxLength: 4 }),
      left: fc.array(fc.record({ a: field, b: part }), { maxLength: 8 }),
      on: fc.constantFrom<Options['on']>({ a: 'id' }, { a: 'id', b: 'part' }),
      pick: fc.constantFrom<Choice>('first', 'all', { max: 'n' }, { min: 'n' }),
      normalize: fc.constantFrom(undefined, 'casefold'),
      asTexts: fc.boolean(),
    });

    test('gives what a loop over both sides gives', async () => {
      await fc.assert(
        fc.asyncProperty(draw, async ({ pages, left, asTexts, ...drawn }) => {
          const other = asTexts ? pages.map((rows, index) => pageWithoutRows(index + 1, batchOfTexts(rows))) : otherSide<Row>(...pages);
          const options: Options = { ...drawn, as: 'b', select: ['v', 'n'], key: ['k'] };
          const out = await rowsThrough<Row, Row>(join<Row, Row, 'b', string>(from(other), options), left);
          expect(out).toEqual(left.flatMap((row) => loopedOver(row, pages.flat(), options)));
        }),
      );
    });

    /** Numbers before what is none, then the order that is wanted, then the key, then the order of reading. */
    function loopedOver(row: Row, rows: readonly Row[], { on, pick, normalize }: Options): readonly Row[] {
      const folded = (text: string) => (normalize ? text.trim().toUpperCase().toLowerCase() : text);
      const keyOf = (side: Row, fields: readonly (string | undefined)[]) => fields.map((field = '') => folded(String(side[field] ?? '')));
      const wanted = keyOf(row, Object.keys(on));
      const found = wanted.includes('') ? [] : rows.filter((other) => isDeepStrictEqual(keyOf(other, Object.values(on)), wanted));
      const sign = typeof pick === 'object' && 'max' in pick ? -1 : 1;
      const rank = ({ n }: Row) => (/^\d+$/.test(String(n)) ? sign * Number(n) : Infinity);
      const last = ({ k }: Row) => String(k || 'none');
      const best = found.toSorted((a, b) => (rank(a) === rank(b) ? last(a).localeCompare(last(b)) : rank(a) - rank(b)));
      const taken = pick === 'all' ? found : typeof pick === 'object' ? best.slice(0, 1) : found.slice(0, 1);
      return (taken.length > 0 ? taken : [{ v: null, n: null }]).map(({ v = null, n = null }: Row) => ({ ...row, b_v: v, b_n: n }));
    }

    test('keeps one row per key under max, however many took the place of another', async () => {
      // More than are replaced before the first time that places are given up.
      const count = 100_000;
      const right = Array.from({ length: count }, (_, index) => ({ id: `${index % 1_000}`, n: `${index}`, v: `v${index}` }));
      const out = await joined([{ id: '0' }, { id: '999' }, { id: '1000' }], right, { pick: { max: 'n' } });
      expect(out.map(({ b_v }) => b_v)).toEqual(['v99000', 'v99999', null]);
    });

    test.each(['all', 'first'] as const)('finds the rows of more than a dictionary has under %s, in the order read', async (pick) => {
      const right = Array.from({ length: 140_000 }, (_, index) => ({ id: `${index % 70_000}`, v: `v${index}` }));
      const out = await joined([{ id: '69999' }, { id: '70000' }], right, { pick });
      expect(out.map(({ b_v }) => b_v)).toEqual(pick === 'all' ? ['v69999', 'v139999', null] : ['v69999', null]);
    });
  });

  describe('several matches', () => {
    const right = [
      { id: '1', v: 'a' },
      { id: '1', v: 'b' },
    ];

    test('are an error by default, which names fields but no value', async () => {
      await expect(joined([{ id: '1' }], right)).rejects.toMatchObject({
        code: 'E_STEP_MATCHES',
        message: 'join: 2 rows match on id for row 1 of page 1; choose one with pick',
      });
    });

    test('compare whole numbers beyond 2^53 exactly', async () => {
      const rows = [
        { n: '9007199254740993', v: 'more' },
        { n: '9007199254740992', v: 'less' },
      ];
      expect(await picked({ max: 'n', type: 'integer' }, rows)).toBe('more');
      expect(await picked({ min: 'n', type: 'integer' }, rows)).toBe('less');
    });
  });

  const [found, lacking] = [
    { id: '1', b_v: 'x' },
    { id: '2', b_v: null },
  ] as const;

  test.each([
    ['left', [found, lacking], { matched: 1, missed: 1 }],
    ['inner', [found], { matched: 1, missed: 1, unmatched: 1 }],
  ] as const)('a row without a match stays with nulls or goes, and is counted: %s', async (type, expected, counts) => {
    const [left, right] = [[{ id: '1' }, { id: '2' }], [{ id: '1', v: 'x' }]];
    expect(await joined(left, right, { type })).toEqual(expected);
    expect(await tallyOf(left, right, { type })).toEqual({ ...emptyTally(), ...counts });
  });

  describe('join in a file', () => {
    const config = { with: 'bridges', on: { bridge_id: 'id' } };

    test('prefixes with the name of the collection unless told otherwise', () => {
      const added = planned(steps.join, { ...config, select: ['title', 'sub_one'] }).columns.slice(-2);
      const names = { bridges_title: 'bridges_title', bridges_sub_one: 'bridges_subOne' };
      expect(added.map(({ name, original }) => [name, original])).toEqual(Object.entries(names));
    });

    test('adds all that is not credential-like by default', async () => {
      const [row] = await rowsThrough(opened(steps.join, config), leads);
      const added = Object.keys(row ?? {}).filter((name) => name.startsWith('bridges_'));
      expect(added).toHaveLength(21);
      expect(added).not.toContain('bridges_crm_key');
    });

    test('asks the service only for the secrets that it reveals', async () => {
      const asked: unknown[] = [];
      const { read } = runtime();
      const context = runtime({ read: (collection, reveal) => (asked.push([collection.name, reveal]), read(collection, reveal)) });
      const step = opened(steps.join, { ...config, as: 'b', reveal: ['crm_key'] }, context);
      const [row] = await rowsThrough(step, leads);
      expect(asked).toEqual([['bridges', ['crm_key']]]);
      expect(row).toMatchObject({ b_crm_key: 'text' });
    });

    test('keeps the sensitivity of what it adds', () => {
      const { columns } = planned(steps.join, { ...config, select: ['name', 'crm_key', 'title'], reveal: ['crm_key'] });
      expect(columns.slice(-3).map(({ sensitivity }) => sensitivity)).toEqual(['personal', 'secret', 'plain']);
    });

    test('compares a picked field by its declared type', async () => {
      const right = [
        sample('areacodes', { city: 'x', area_code: '111', city_population: '9' }),
        sample('areacodes', { city: 'x', area_code: '222', city_population: '10' }),
      ];
      const context = runtime({ read: () => from(otherSide(right)) });
      const join = { with: 'areacodes', on: { zipcode: 'city' }, as: 'area', select: ['area_code'] };
      const best = (pick: unknown) => rowsThrough(opened(steps.join, { ...join, pick }, context), [{ zipcode: 'x' }]);
      expect(await best({ max: 'city_population' })).toMatchObject([{ area_area_code: '222' }]);
      expect(await best({ min: 'city_population' })).toMatchObject([{ area_area_code: '111' }]);
    });

    test('breaks ties by the key of the collection', async () => {
      const right = ['333', '111', '222'].map((area_code) => sample('areacodes', { city: 'x', area_code, city_population: '9' }));
      const config = { with: 'areacodes', on: { zipcode: 'city' }, as: 'area', select: ['area_code'], pick: { max: 'city_population' } };
      const step = opened(steps.join, config, runtime({ read: () => from(otherSide(right)) }));
      expect(await rowsThrough(step, [{ zipcode: 'x' }])).toMatchObject([{ area_area_code: '111' }]);
    });

    test.each([
      ['95%', 95, 5, undefined],
      ['95%', 94, 6, '94.00% of 100 rows matched, expected at least 95%'],
      ['99.5%', 199, 2, '99.00% of 201 rows matched, expected at least 99.5%'],
      ['100%', 99_999, 1, '99.99% of 100,000 rows matched, expected at least 100%'],
      ['100%', 0, 0, undefined],
      [undefined, 0, 9, undefined],
    ])('with min_match %s, %d matches and %d misses: the gate says %j', (min_match, matched, missed, refusal) => {
      const parsed = steps.join.config().parse({ ...config, min_match });
      expect(steps.join.gate?.(parsed, { ...emptyTally(), matched, missed })?.violation?.message).toBe(refusal);
    });
  });
});
