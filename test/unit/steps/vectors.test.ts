import { from, type Observable } from 'rxjs';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/core/index.js';
import type { RecordBatch } from '../../../src/vector/index.js';
import { keep, pageOf, type Page, type Step, type OnError } from '../../../src/flow/index.js';
import { type StepDefinition } from '../../../src/steps/index.js';
import { dictionaryBatches, batchOfTexts } from '../../support/batches.js';
import { casesOf, opened, pagesFor, runtime, sample, watched } from './support.js';

/** Configurations that would not be right in a file, and some that show more of a step with odd values. */
const cases = casesOf({
  dedupe: [{ by: ['email', 'lead_status'], normalize: 'casefold' }, { by: ['age'] }, { by: ['email', 'no_field'] }],
  derive: [
    { zipcode: 'zip_prefix(zipcode)', before: 'zipcode' },
    { both: 'lower(email) + lead_status', none: 'null', one: '1 + 1', code: 'area_code(cell_phone)' },
    { any: "[email, lead_status].exists(x, x == '1')", either: "blank(email) ? 'none' : email", email: 'upper(email)' },
    { whole: 'int(age)', other: 'int(uid)', short: 'email.size() < 3' },
    {},
  ],
  filter: ['null', 'num(age) > 2.0', "email == lead_status || email.startsWith('1')", 'int(age) == int(uid)', "lead_status != ''"],
  sample: [
    { percent: 30, by: ['email', 'age'], seed: 3 },
    { percent: 50, by: ['no_field'] },
  ],
  explode: [
    { field: 'email' },
    { field: 'age', separator: '1', empty: 'drop', position: 'n' },
    { field: 'no_field', position: 'uid' },
    { field: 'uid', on_error: 'null' },
  ],
  join: [{ with: 'areacodes', on: { zipcode: 'city', email: 'state' }, select: ['area_code'], normalize: 'casefold', type: 'inner' }],
  limit: [1, 4],
  select: [
    ['email', 'no_field', 'age'],
    ['uid', 'email', 'uid'],
  ],
  rename: [{ email: 'zipcode' }, { zipcode: 'email' }, { no_field: 'x', email: 'new', age: 'new' }],
  cast: (['null', 'reject', 'fail'] as const).map((on_error) => ({
    types: {
      ...{ uid: 'integer', email: 'flag', no_field: 'date', age: 'decimal' },
      ...{ yearmonthday: 'date', timestamp: 'timestamp', zipcode: 'text' },
    },
    on_error,
  })),
  sort: [{ by: ['email desc', 'lead_status'] }, { by: ['yearmonthday', 'uid desc'], memory: '32MB' }],
  aggregate: [
    { by: ['email', 'age'], compute: { n: 'count()', least: 'min(uid)', kinds: 'count_distinct(zipcode)', odd: "count(email == '1')" } },
    { by: ['timestamp'], compute: { sum: 'sum(age)', mean: 'avg(num(uid))', day: 'max(yearmonthday)', yes: 'min(lead_accepted)' } },
  ],
  sql: ['SELECT email, count(*) AS n, sum(age) AS years, max(timestamp) AS last FROM rows GROUP BY email ORDER BY email'],
  mask: [
    { age: 'null', email: 'redact', lastname: 'drop', zipcode: 'last4', uid: 'hmac', no_field: 'redact' },
    { age: 'last4', email: 'null', uid: 'redact', lead_id: 'drop', lead_status: 'hmac' },
  ],
});

const long = 'a text of more than sixty-four bytes, which is remembered by nobody at all';
const texts = [
  '',
  '1',
  '17',
  '1.5',
  'Yes',
  'new',
  '10001',
  'K1A 0B1',
  '20240229',
  '1709164800',
  '2125550142',
  'Zo\u00eb \u{1f600}',
  ' ny ',
  '["1", 17, null, {"a": 1.50}]',
  '[]',
  long,
];
const odd = ['a\0b', '\ud800', '\u{1f600}x\ud83d'];
const others: readonly Value[] = [null, true, 17n, -1.5, new Date('2024-02-29T12:00:00.000Z')];

/** Fields that the configurations speak of, in pages whose columns are of texts only, of texts and null, or of anything. */
const varied = 'lead_id uid zipcode email lead_status cell_phone age yearmonthday timestamp bridge_id lead_accepted'.split(' ');

const kinds: fc.Arbitrary<fc.Arbitrary<Value>> = fc.oneof(
  { arbitrary: fc.constant(fc.constantFrom<Value>(...texts)), weight: 4 },
  { arbitrary: fc.constant(fc.constantFrom<Value>(...texts.slice(0, 3))), weight: 2 },
  { arbitrary: fc.constant(fc.constantFrom<Value>(null, ...texts)), weight: 1 },
  { arbitrary: fc.constant(fc.constantFrom<Value>(...texts, ...odd, ...others)), weight: 1 },
);

const pageOfRows: fc.Arbitrary<readonly Row[]> = fc
  .record(Object.fromEntries(varied.map((name) => [name, kinds])))
  .chain((values) => fc.array(fc.record(values), { maxLength: 5 }))
  .map((rows) => rows.map((row) => sample('leads', row)));

const listsOfRows = fc.array(pageOfRows, { minLength: 1, maxLength: 3 });

/** What a step gives, down to the order of fields, and what it does beside. */
async function outcome(open: (context: ReturnType<typeof watched>) => Step, input: readonly Page[]): Promise<object> {
  const context = watched();
  const given: unknown[] = [];
  const failure = await ended(from(input).pipe(open(context)), (page) => {
    keep(page);
    given.push([page.number, page.rows.map(entriesOf)]);
  });
  const rejects = context.rejects.map(({ row, fault }) => [entriesOf(row), fault]);
  return { given, rejects, tally: context.tally, failure };
}

function ended(pages$: Observable<Page>, next: (page: Page) => void): Promise<unknown> {
  return new Promise((resolve) => {
    pages$.subscribe({
      next,
      complete: () => resolve('completed'),
      error: (error: unknown) => resolve([(error as { code?: unknown }).code, String(error)]),
    });
  });
}

function entriesOf(row: Row): readonly unknown[] {
  return Object.entries(row);
}

function openedWith(definition: StepDefinition, config: unknown, onError: OnError) {
  return (context: ReturnType<typeof watched>) => opened(definition, config, runtime({ ...context, onError }));
}

/** The same pages by columns. */
function batchesOf(
  definition: StepDefinition,
  lists: readonly (readonly Row[])[],
  of: (rows: readonly Row[]) => RecordBatch = batchOfTexts,
): readonly Page[] {
  return pagesFor(definition, ...lists).map(({ number, rows, lease }) => pageOf(number, of(rows), lease));
}

test.each(cases)('%s %s gives the same whatever vectors its columns have', async (_name, _json, definition, config) => {
  await fc.assert(
    fc.asyncProperty(listsOfRows, fc.constantFrom('reject', 'null', 'fail'), async (lists, onError) => {
      const open = openedWith(definition, config, onError);
      const expected = await outcome(open, pagesFor(definition, ...lists));
      const mixed = batchesOf(definition, lists).map((page, index) => (index === 1 ? { ...page, rows: page.rows } : page));
      expect(await outcome(open, batchesOf(definition, lists))).toEqual(expected);
      expect(await outcome(open, mixed)).toEqual(expected);
      expect(await outcome(open, batchesOf(definition, lists, dictionaryBatches(true)))).toEqual(expected);
      expect(await outcome(open, batchesOf(definition, lists, dictionaryBatches(false)))).toEqual(expected);
    }),
    { numRuns: 3 },
  );
});

test.each(cases)('%s %s gives nothing of a batch that was emptied', async (_name, _json, definition, config) => {
  const open = openedWith(definition, config, 'reject');
  const empty = pageOf(1, batchOfTexts([sample('leads')]).take([]), { release: () => {} });
  expect(await outcome(open, [empty])).toEqual(await outcome(open, pagesFor(definition, [])));
});
