import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { Profiler } from '../../../src/pipeline/run/profile.js';
import { batchOfTexts, pageWithoutRows } from '../../support/batches.js';
import { pageOf } from '../../support/pages.js';

const column = (name: string, more: Partial<Column> = {}): Column => {
  return { name, original: name, type: 'text', cast: false, sensitivity: 'plain', ...more };
};

function profileOf(columns: readonly Column[], ...pages: readonly (readonly Row[])[]) {
  const profiler = new Profiler();
  pages.forEach((rows, index) => profiler.observe(pageOf(index + 1, rows), columns));
  return profiler.profile();
}

const texts = (name: string, values: readonly Value[]): readonly Row[] => values.map((value) => ({ [name]: value }));

describe('the profile of columns', () => {
  test('counts what is empty, and what comes how often, the most frequent first', () => {
    expect(profileOf([column('s')], texts('s', ['sold', '', 'new', null, 'sold']), texts('s', ['new', 'sold', 'lost']))).toEqual({
      rows: 8,
      columns: [
        {
          name: 's',
          type: 'text',
          sensitivity: 'plain',
          empty: 2,
          distinct: 3,
          top: [
            { value: 'sold', rows: 3 },
            { value: 'new', rows: 2 },
          ],
        },
      ],
    });
  });

  test.each([
    ['is personal', { sensitivity: 'personal' }],
    ['is secret', { sensitivity: 'secret' }],
    ['nobody declared', { undeclared: true }],
  ] as const)('has no value of a column that %s', (_, more) => {
    const [profile] = profileOf([column('email', more)], texts('email', ['a@b.c', 'a@b.c', ''])).columns;
    expect(profile).toMatchObject({ name: 'email', empty: 1 });
    expect(profile).not.toHaveProperty('top');
    expect(profile).not.toHaveProperty('distinct');
  });

  test('gives up a column of more than 1,000 values, and goes on counting what is empty', () => {
    const many = (count: number) => texts('id', [...Array.from({ length: count }, (_, index) => `id-${index}`), '']);
    expect(profileOf([column('id')], many(1_000)).columns[0]).toMatchObject({ distinct: 1_000, top: [], empty: 1 });
    const [profile] = profileOf([column('id')], many(1_001), many(7)).columns;
    expect(profile).toMatchObject({ empty: 2 });
    expect(profile).not.toHaveProperty('distinct');
  });

  test('gives up a column of long texts, which would fill the memory', () => {
    expect(profileOf([column('note')], texts('note', ['x'.repeat(101), 'a'])).columns[0]).not.toHaveProperty('top');
  });

  test('says dates and times as text formats write them', () => {
    const day = new Date('2026-11-22T00:00:00Z');
    const [profile] = profileOf([column('day', { type: 'date', cast: true })], texts('day', [day, new Date(day), null])).columns;
    expect(profile).toMatchObject({ distinct: 1, top: [{ value: '2026-11-22', rows: 2 }], empty: 1 });
  });

  test('is of columns of bytes what it is of rows, and what counting says', () => {
    const value = fc.constantFrom('', 'a', 'b', 'ç', '😀 b', 'z'.repeat(80));
    const pages = fc.array(fc.array(fc.record({ a: value, b: value }), { maxLength: 12 }), { maxLength: 5 });
    fc.assert(
      fc.property(pages, (lists) => {
        const columns = [column('a'), column('b')];
        const byBytes = new Profiler();
        lists.forEach((rows, index) => byBytes.observe(pageWithoutRows(index + 1, batchOfTexts(rows)), columns));
        const profile = profileOf(columns, ...lists);
        expect(byBytes.profile()).toEqual(profile);
        const given = lists.flat().map(({ a }) => a);
        const [first] = profile.columns;
        expect(profile.rows).toBe(given.length);
        if (!first) return;
        expect(first.empty).toBe(given.filter((each) => each === '').length);
        expect(first.distinct).toBe(new Set(given.filter((each) => each !== '')).size);
        for (const { value: text, rows } of first.top ?? []) expect(rows).toBe(given.filter((each) => each === text).length);
      }),
    );
  });
});
