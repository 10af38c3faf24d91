import { from, lastValueFrom } from 'rxjs';
import { batchOf, pageOf, type Page } from '../../../src/flow/page.js';
import { select } from '../../../src/steps/index.js';
import { batchOfTexts } from '../../support/batches.js';

const lease = { release: () => {} };
const page = pageOf(7, batchOfTexts([{ id: '1', name: 'a' }]), lease);

test('a copy of a page has its rows, and other rows where it gets them', async () => {
  const copies: readonly Page[] = [
    { ...page, number: 8 },
    { ...page, rows: [{ id: '2', name: 'b' }] },
  ];
  expect(copies.map(({ number, rows }) => [number, rows])).toEqual([
    [8, [{ id: '1', name: 'a' }]],
    [7, [{ id: '2', name: 'b' }]],
  ]);
  const last = await lastValueFrom(from(copies).pipe(select(['name'])));
  expect(last.rows).toEqual([{ name: 'b' }]);
});

const changes: readonly (readonly [string, (rows: Record<string, unknown>[]) => unknown])[] = [
  ['a field', ([row]) => Object.assign(row ?? {}, { id: '2' })],
  ['their order', (rows) => rows.reverse()],
  ['one more', (rows) => rows.push({})],
];

test.each(changes)('rows of a page by columns refuse a change in place, which no step behind it would see: %s', (_what, change) => {
  const made = pageOf(1, batchOfTexts([{ id: '1' }, { id: '3' }]), lease);
  expect(() => Reflect.apply(change, undefined, [made.rows])).toThrow(TypeError);
  expect(batchOf(made).rows()).toEqual([{ id: '1' }, { id: '3' }]);
});

test.each([
  [undefined, 'undefined'],
  [Promise.resolve({}), 'a promise, which must be awaited'],
  ['x', 'a text'],
])('what is no row of a page is named: %p', (row, what) => {
  const rows: readonly unknown[] = [{ a: '1' }, row];
  const wrong: unknown = { ...page, number: 3, rows };
  expect(() => Reflect.apply(batchOf, undefined, [wrong])).toThrow(
    expect.objectContaining({ code: 'E_STEP_CONFIG', message: `page 3: row 2 must be an object with fields, not ${what}` }),
  );
});
