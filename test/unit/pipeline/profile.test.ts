import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { Profiler } from '../../../src/pipeline/run/profile.js';
import { batchOfTexts, pageWithoutRows } from '../../support/batches.js';
import { pageOf } from '../../support/pages.js';

const column = (name: string, more: Partial<Column> = {}): Column => {
  return { name, original: name, type: 'text', cast: false, sensitivity: 'plain', ...more };
};

/** Its field `s` has a few words for values. */
const collection = {
  fields: { s: { type: 'text', sensitivity: 'plain', enumerated: true }, referer: { type: 'text', sensitivity: 'plain' } },
} as const;
const words = (more: Partial<Column> = {}) => column('s', { source: 's', ...more });

function profileOf(columns: readonly Column[], ...pages: readonly (readonly Row[])[]) {
  const profiler = new Profiler(collection);
  pages.forEach((rows, index) => profiler.observe(pageOf(index + 1, rows), columns));
  return profiler.profile();
}

const texts = (name: string, values: readonly Value[]): readonly Row[] => values.map((value) => ({ [name]: value }));

describe('the profile of columns', () => {
  test('counts what is empty, and what comes how often, the most frequent first', () => {
    expect(profileOf([words()], texts('s', ['sold', '', 'new', null, 'sold']), texts('s', ['new', 'sold', 'lost']))).toEqual({
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
    expect(profileOf([column('id')], many(1_000)).columns[0]).toMatchObject({ distinct: 1_000, empty: 1 });
    const [profile] = profileOf([column('id')], many(1_001), many(7)).columns;
    expect(profile).toMatchObject({ empty: 2, uncounted: 'many' });
    expect(profile).not.toHaveProperty('distinct');
  });

  test('gives up a column of long texts, which would fill the memory', () => {
    const [profile] = profileOf([column('note')], texts('note', ['x'.repeat(101), 'a'])).columns;
    expect(profile).toMatchObject({ uncounted: 'long' });
    expect(profile).not.toHaveProperty('distinct');
  });

  test('counts dates and times as text formats write them', () => {
    const day = new Date('2026-11-22T00:00:00Z');
    const [profile] = profileOf([column('day', { type: 'date', cast: true })], texts('day', [day, new Date(day), null])).columns;
    expect(profile).toMatchObject({ distinct: 1, empty: 1 });
  });

  test('shows flags, cast or as they came', () => {
    const [cast] = profileOf([column('ok', { type: 'flag', cast: true })], texts('ok', [true, true, false])).columns;
    expect(cast).toMatchObject({ top: [{ value: 'true', rows: 2 }] });
    const [came] = profileOf([column('ok', { type: 'flag' })], texts('ok', ['yes', 'yes', '0'])).columns;
    expect(came).toMatchObject({ top: [{ value: 'yes', rows: 2 }] });
  });

  test.each([
    ['is text of any kind', column('referer', { source: 'referer' }), 'jane'],
    ['was computed', column('s'), 'jane'],
    ['should have a few words, and has an address', words(), 'jane@example.com'],
    ['should have a few words, and has a URL', words(), '/?email=jane'],
    ['should be a flag, and is none', column('ok', { type: 'flag' }), 'jane'],
  ])('shows no value of a column that %s', (_, one, value) => {
    const [profile] = profileOf([one], texts(one.name, ['1', '1', value, value])).columns;
    expect(profile).toMatchObject({ distinct: 2 });
    expect(profile).not.toHaveProperty('top');
  });

  test('is of columns of bytes what it is of rows, and what counting says', () => {
    const value = fc.constantFrom('', 'a', 'b', 'ç', '😀 b', 'z'.repeat(80));
    const pages = fc.array(fc.array(fc.record({ a: value, b: value }), { maxLength: 12 }), { maxLength: 5 });
    fc.assert(
      fc.property(pages, (lists) => {
        const columns = [column('a'), column('b')];
        const byBytes = new Profiler(collection);
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
