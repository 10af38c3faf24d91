import { join } from 'node:path';
import fc from 'fast-check';
import type { DeclaredType, Row, Value } from '../../../src/core/index.js';
import { aggregate, type Aggregation, type GroupBy } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { batchOfTexts, dictionaryBatches } from '../../support/batches.js';
import { temporaryFolder } from '../../support/temporary.js';
import { pageOf, type Page, type Step } from '../../../src/flow/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { castTo, opened, otherSide, planned, runtime, through, watched } from './support.js';

async function run<T extends Row>(step: Step<Row, T>, pages: readonly Page[]): Promise<readonly T[]> {
  return (await through(step, pages)).flatMap((page) => page.rows);
}

const texts = fc.constantFrom<Value>('', 'a', 'B', 'é', '\uff21', '😀', 'ab', '1', '01', null);
const wholes = fc.constantFrom<Value>('10', '9', '-1', '+9', '', null, '9007199254740993', '9007199254740992', 9n, 2n ** 62n);
/** Fractions whose sums are exact, whatever their order. */
const numbers = fc.constantFrom<Value>('0.25', '0.5', '-0.75', '1e3', '-1e3', '-0', '', null, 7n);
const times = fc.constantFrom<Value>('1709164800', '0', '-86400', '', null, new Date(1_709_164_800_000), new Date(5));
const days = fc.constantFrom<Value>('20240229', '19691231', '', null, new Date('2024-02-29T13:00:00Z'));
const flags = fc.constantFrom<Value>('yes', 'No', '1', '0', '', null, true);
const row: fc.Arbitrary<Row> = fc.record({ text: texts, whole: wholes, number: numbers, time: times, day: days, flag: flags });
const rows = fc.array(row, { maxLength: 25 });

const typeOf: Readonly<Record<string, DeclaredType>> = {
  text: 'text',
  whole: 'integer',
  number: 'decimal',
  time: 'timestamp',
  day: 'date',
  flag: 'flag',
};
const fields = Object.keys(typeOf);

/** A value as the specification sees it: what equal values have in common, and what values are compared by. */
function meant(value: Value | undefined, type: DeclaredType): string | bigint | number | boolean | null {
  if (value === null || value === undefined || (value === '' && type !== 'text')) return null;
  if (type === 'text') return String(value);
  if (type === 'flag') return value === true || value === 'yes' || value === '1';
  if (type === 'integer') return BigInt(value as string | bigint);
  // The two zeros are one number.
  if (type === 'decimal') return Number(value) + 0;
  if (type === 'timestamp') return value instanceof Date ? value.getTime() : 1000 * Number(value);
  const iso = value instanceof Date ? value.toISOString() : String(value).replace(/(....)(..)(..)/, '$1-$2-$3');
  return Date.parse(iso.slice(0, 10));
}

type Meant = ReturnType<typeof meant>;

function shown(value: Meant, type: DeclaredType): Value {
  return typeof value === 'number' && (type === 'timestamp' || type === 'date') ? new Date(value) : value;
}

function compare(one: Meant, other: Meant): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The specification of the functions, on the values of a group without null. */
const functions: Readonly<Record<string, (values: readonly NonNullable<Meant>[], type: DeclaredType) => Value>> = {
  countDistinct: (values) => BigInt(new Set(values).size),
  min: (values, type) => shown(values.toSorted(compare).at(0) ?? null, type),
  max: (values, type) => shown(values.toSorted(compare).at(-1) ?? null, type),
  sum: (values, type) => {
    if (values.length === 0) return null;
    if (type === 'integer') return (values as readonly bigint[]).reduce((sum, value) => sum + value, 0n);
    return (values as readonly number[]).reduce((sum, value) => sum + value, 0);
  },
  avg: (values) => (values.length === 0 ? null : (values as readonly number[]).reduce((sum, value) => sum + value, 0) / values.length),
};

/** The specification: groups of row objects. */
function grouped(some: readonly Row[], by: readonly string[], compute: Readonly<Record<string, Aggregation<Row>>>): readonly Row[] {
  const groups = new Map<string, { readonly key: readonly Meant[]; readonly rows: Row[] }>();
  if (by.length === 0) groups.set('', { key: [], rows: [] });
  for (const each of some) {
    const key = by.map((field) => meant(each[field], typeOf[field] ?? 'text'));
    const name = by.length === 0 ? '' : JSON.stringify(key.map((part) => [typeof part, String(part)]));
    const group = groups.get(name) ?? { key, rows: [] };
    groups.set(name, group);
    group.rows.push(each);
  }
  return [...groups.values()]
    .toSorted((one, other) => one.key.reduce<number>((order, part, at) => order || compare(part, other.key[at] ?? null), 0))
    .map(({ key, rows: members }) => ({
      ...Object.fromEntries(by.map((field, at) => [field, shown(key[at] ?? null, typeOf[field] ?? 'text')])),
      ...Object.fromEntries(Object.entries(compute).map(([name, what]) => [name, computed(what, members)])),
    }));
}

function computed(what: Aggregation<Row>, members: readonly Row[]): Value {
  if (what === 'count') return BigInt(members.length);
  if ('count' in what) return BigInt(members.filter(what.count).length);
  const [name = '', field = ''] = Object.entries(what)[0] ?? [];
  const { type = 'text' } = what;
  const values = members.flatMap((member) => meant(member[field], type) ?? []);
  return functions[name]?.(values, type) ?? null;
}

/** Every function of every type that it takes, but for the average of whole numbers, which is more exact than numbers of JavaScript. */
const everything = Object.fromEntries([
  ['rows', 'count'],
  ['flagged', { count: (each: Row) => each.flag === 'yes' }],
  ...fields.flatMap((field) =>
    ['countDistinct', 'min', 'max'].map((name) => [`${name} ${field}`, { [name]: field, type: typeOf[field] }] as const),
  ),
  ['sum whole', { sum: 'whole', type: 'integer' }],
  ['sum number', { sum: 'number', type: 'decimal' }],
  ['avg number', { avg: 'number', type: 'decimal' }],
]) as Readonly<Record<string, Aggregation<Row>>>;

/** Sums that their types cannot hold are refused, which is looked at by itself. */
function fits(expected: readonly Row[]): boolean {
  return expected.every((each) =>
    Object.values(each).every((value) =>
      typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : typeof value !== 'number' || Number.isFinite(value),
    ),
  );
}

const keyed = (by: readonly string[]): readonly GroupBy[] => by.map((field) => ({ field, type: typeOf[field] ?? 'text' }));

function pagesOf(some: readonly Row[], size: number, of: (rows: readonly Row[]) => RecordBatch): readonly Page[] {
  const pieces = Array.from({ length: Math.ceil(some.length / size) }, (_, index) => some.slice(index * size, (index + 1) * size));
  return pieces.map((piece, index) => pageOf(index + 1, of(piece), { release: () => {} }));
}

describe('aggregate', () => {
  test('computes what the specification does', async () => {
    const folder = join(await temporaryFolder(), 'scratch');
    const by = fc.uniqueArray(fc.constantFrom(...fields), { maxLength: 3 });
    const batches = fc.constantFrom(batchFromRows, batchOfTexts, dictionaryBatches(false));
    await fc.assert(
      fc.asyncProperty(rows, by, batches, fc.constantFrom(1, 4), async (some, names, of, size) => {
        const expected = grouped(some, names, everything);
        const step = aggregate<Row, readonly GroupBy[], typeof everything>(keyed(names), everything, { folder });
        const got = run(step, pagesOf(some, size, of));
        if (fits(expected)) expect(await got).toEqual(expected);
        else await expect(got).rejects.toMatchObject({ code: 'E_STEP_OVERFLOW' });
      }),
    );
  });

  test('groups many rows, with their different values', async () => {
    const folder = join(await temporaryFolder(), 'scratch');
    const some = Array.from({ length: 20_000 }, (_, id): Row => ({
      text: `g${(id * 7919) % 5_000}`,
      whole: String(id % 7),
      number: `${id}.5`,
    }));
    const compute = { n: 'count', kinds: { countDistinct: 'whole' }, sum: { sum: 'number', type: 'decimal' } } as const;
    const step = aggregate<Row, readonly ['text'], typeof compute>(['text'], compute, { folder });
    const out = await through(step, pagesOf(some, 1_000, batchFromRows));
    expect(out.flatMap((page) => page.rows)).toEqual(grouped(some, ['text'], compute));
    expect(out.map((page) => page.rows.length)).toEqual([2_048, 2_048, 904]);
  });

  test('averages whole numbers', async () => {
    const compute = { mean: { avg: 'n', type: 'integer' } } as const;
    const mean = (values: readonly Value[]) =>
      run(aggregate<Row, readonly [], typeof compute>([], compute), otherSide(values.map((n): Row => ({ n }))));
    expect(await mean(['1', '2', null, '4', '', '-5'])).toEqual([{ mean: 0.5 }]);
    expect(await mean(['', null])).toEqual([{ mean: null }]);
  });

  test('sums decimals with compensation', async () => {
    const compute = { sum: { sum: 'n', type: 'decimal' }, mean: { avg: 'n', type: 'decimal' } } as const;
    const tenths = Array.from({ length: 1_000 }, (): Row => ({ n: '0.1' }));
    const pages = pagesOf(tenths, 7, batchFromRows);
    expect(await run(aggregate<Row, readonly [], typeof compute>([], compute), pages)).toEqual([{ sum: 100, mean: 0.1 }]);
  });

  test.each([
    ['integer', ['9223372036854775807', '1'], ['9223372036854775807', '1', '-1'], 9_223_372_036_854_775_807n],
    ['decimal', ['1.7e308', '1.7e308'], ['1.7e308', '-1.7e308', '0'], 0],
  ] as const)('refuses a sum of %ss that its type cannot hold, and only that', async (type, beyond, within, sum) => {
    const compute = { total: { sum: 'n', type } } as const;
    const of = (values: readonly string[]) =>
      run(aggregate<Row, readonly [], typeof compute>([], compute), otherSide(values.map((n): Row => ({ n }))));
    await expect(of(beyond)).rejects.toMatchObject({
      code: 'E_STEP_OVERFLOW',
      message: 'aggregate: total: a result is too large for its type',
    });
    expect(await of(within)).toEqual([{ total: sum }]);
  });

  test.each([
    ['reject', [{ g: 'a', sum: 1n }], 2, 0],
    [
      'null',
      [
        { g: 'a', sum: 1n },
        { g: null, sum: 2n },
      ],
      0,
      2,
    ],
  ] as const)('does under %s with a value that is not of its type as it says', async (onError, expected, rejected, nulled) => {
    const context = watched();
    const some: Row[] = [
      { g: 'a', n: '1' },
      { g: 'a', n: 'x' },
      { g: '\ud800', n: '2' },
    ];
    const compute = { sum: { sum: 'n', type: 'integer' } } as const;
    expect(await run(aggregate<Row, readonly ['g'], typeof compute>(['g'], compute, { onError }, context), otherSide(some))).toEqual(
      expected,
    );
    expect(context.rejects).toHaveLength(rejected);
    expect(context.tally).toMatchObject({ rejected, nulled, grouped: 3 - rejected, groups: expected.length });
  });
});

describe('aggregate in a file', () => {
  test('declares the types and who may see the results', () => {
    const { columns } = planned(steps.aggregate, {
      by: ['yearmonthday', 'email'],
      compute: {
        n: 'count()',
        people: 'count_distinct(lower(email))',
        first: 'min(timestamp)',
        longest: 'max(size(email))',
        mean: 'avg(age)',
        total: 'sum(num(campaign_id))',
        valid: 'max(flag(is_valid))',
      },
    });
    expect(columns.map(({ name, type, cast, sensitivity }) => [name, type, cast, sensitivity])).toEqual([
      ['yearmonthday', 'date', true, 'plain'],
      ['email', 'text', true, 'personal'],
      ['n', 'integer', true, 'plain'],
      ['people', 'integer', true, 'plain'],
      ['first', 'timestamp', true, 'plain'],
      ['longest', 'integer', true, 'personal'],
      ['mean', 'decimal', true, 'personal'],
      ['total', 'decimal', true, 'plain'],
      ['valid', 'flag', true, 'plain'],
    ]);
  });

  test('takes commas, quotes and parentheses within an expression for what they are', async () => {
    const compute = { n: `count(email in ['a)', "b,", 'it\\'s'] || (lead_status == ')'))` };
    expect(planned(steps.aggregate, { compute }).problems).toEqual([]);
    const input = castTo({ email: 'text', lead_status: 'text' });
    const some: Row[] = ['a)', 'b,', "it's", 'c'].map((email) => ({ email, lead_status: '' }));
    expect(await run(opened(steps.aggregate, { compute }, runtime({ input })), otherSide(some))).toEqual([{ n: 3n }]);
  });

  test('counts a condition that is null as one that does not hold, and leaves out texts that an expression makes null', async () => {
    const compute = { some: "count(email == 'a')", kinds: 'count_distinct(blank(email) ? null : email)', all: 'count_distinct(email)' };
    const input = castTo({ email: 'text' });
    const some: Row[] = [{ email: 'a' }, { email: null }, { email: '' }, { email: 'b' }];
    expect(await run(opened(steps.aggregate, { compute }, runtime({ input })), otherSide(some))).toEqual([
      { some: 1n, kinds: 2n, all: 3n },
    ]);
  });

  test('rejects a row whose expression fails, once', async () => {
    const context = runtime({ input: castTo({ a: 'text' }) });
    const compute = { n: 'count()', sum: 'sum(int(a))', more: 'max(int(a))' };
    expect(await run(opened(steps.aggregate, { compute }, context), otherSide<Row>([{ a: '1' }, { a: 'x' }]))).toEqual([
      { n: 1n, sum: 1n, more: 1n },
    ]);
    expect(context.rejects.map(({ fault }) => fault.field)).toEqual(['int(a)']);
    expect(context.tally).toMatchObject({ rejected: 1, grouped: 1, groups: 1 });
  });
});
