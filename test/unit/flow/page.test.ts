import { from, lastValueFrom } from 'rxjs';
import { expect, test } from '@jest/globals';
import { batchOf, countOf, isPage, pageOf, withLease, type Page } from '../../../src/flow/index.js';
import { select } from '../../../src/steps/index.js';
import { batchOfTexts, pageWithoutRows } from '../../support/batches.js';

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

test('a page by columns makes no rows to be counted or to get another lease', () => {
  const other = { release: () => {} };
  const leased = withLease(pageWithoutRows(1, batchOfTexts([{ id: '1' }, { id: '2' }])), other);
  expect([countOf(leased), leased.lease]).toEqual([2, other]);
});

test.each([
  ['by columns', page, true],
  ['of rows', { number: 1, rows: [], lease }, true],
  ['without rows', { number: 1, lease }, false],
  ['without a lease', { number: 1, rows: [] }, false],
  ['that is null', null, false],
])('what is a page is known as one: %s', (_what, value, is) => {
  expect(isPage(value)).toBe(is);
});

test('a page of rows has a batch of them', () => {
  expect(batchOf({ number: 1, rows: [{ a: '1' }, { b: true }], lease }).rows).toEqual([
    { a: '1', b: null },
    { a: null, b: true },
  ]);
});
