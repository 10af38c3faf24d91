import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/collections/index.js';
import { Table } from '../../../src/columnar/index.js';
import { memoByFields, reshape, reshapeAll, withFields } from '../../../src/flow/index.js';
import { tableOf } from '../../support/tables.js';

describe('reshape', () => {
  test('adds fields behind those of the row; one that exists keeps its place and gets the new value', () => {
    const copy = reshape(withFields(['b', 'z']));
    expect(Object.entries(copy({ a: '1', b: '2', c: '3' }, ['x', null]))).toEqual(Object.entries({ a: '1', b: 'x', c: '3', z: null }));
  });

  test('copies rows with other fields, or in another order, by their own fields', () => {
    const copy = reshape(withFields(['z']));
    const rows: readonly Row[] = [{ a: '1', b: '2' }, { a: '1' }, { b: '2', a: '1' }, { a: '1', b: '2', c: '3' }, {}, { a: '4', b: '5' }];
    for (const row of rows) expect(Object.entries(copy(row, ['n']))).toEqual([...Object.entries(row), ['z', 'n']]);
  });

  test('asks for the layout once per set of fields', () => {
    const asked: string[] = [];
    const rows: readonly Row[] = [{ a: '1' }, { a: '1', b: '2' }];
    const copy = reshape((names) => {
      asked.push(names.join());
      return new Map(names.map((name) => [name, name]));
    });
    for (let round = 0; round < 3; round += 1) for (const row of rows) copy(row, []);
    expect(asked).toEqual(['a', 'a,b']);
  });

  test('copies rows of any number of shapes, __proto__ among their fields', () => {
    const copy = reshape(withFields(['z']));
    for (let shape = 0; shape < 50; shape += 1) {
      const row: Row = JSON.parse(`{"f${shape}":"1","__proto__":"p"}`);
      expect(Object.entries(copy(row, [shape]))).toEqual([
        [`f${shape}`, '1'],
        ['__proto__', 'p'],
        ['z', shape],
      ]);
    }
  });

  test('leaves inherited fields behind', () => {
    const copy = reshape(withFields([]));
    copy({ a: '1', b: '2' }, []);
    const heir: Row = Object.assign(Object.create({ b: 'inherited' }), { a: '1' });
    expect(Object.entries(copy(heir, []))).toEqual([['a', '1']]);
  });

  test('does not change the row', () => {
    const row = Object.freeze({ a: '1' });
    expect(reshape(withFields(['a']))(row, ['2'])).toEqual({ a: '2' });
    expect(row).toEqual({ a: '1' });
  });
});

describe('reshapeAll', () => {
  const rows: readonly Row[] = [
    { a: '1', b: '2' },
    { a: '3', b: '4' },
  ];
  const reshaped = reshapeAll(withFields(['a', 'z']));
  const given = [
    ['x', 'y'],
    [true, null],
  ];

  test('makes rows of rows and of columns given beside them', () => {
    expect(reshaped(rows, given)).toEqual([
      { a: 'x', b: '2', z: true },
      { a: 'y', b: '4', z: null },
    ]);
  });

  test('hands the columns of a table on as they are', () => {
    const table = tableOf(rows);
    const made = reshaped(table, given);
    if (!(made instanceof Table)) throw new Error('it was a table');
    expect([...made.columns]).toEqual([
      ['a', given[0]],
      ['b', table.columns.get('b')],
      ['z', given[1]],
    ]);
    expect(made.columns.get('b')).toBe(table.columns.get('b'));
  });
});

describe('memoByFields', () => {
  test('finds once what rows share in its fields, "nothing" too', () => {
    const found: Row[] = [];
    const find = memoByFields(['a', 'b'], (row) => {
      found.push(row);
      return row.a === 'x' ? null : `${String(row.a)}/${String(row.b)}`;
    });
    const rows: readonly Row[] = [
      { a: '1', b: '2' },
      { a: '1', b: '3' },
      { a: 'x', b: '2' },
      { a: '12', b: '' },
      { a: '1', b: '2', c: 'other' },
      { a: 'x', b: '2' },
    ];
    expect(rows.map((row) => find(row))).toEqual(['1/2', '1/3', null, '12/', '1/2', null]);
    expect(found).toHaveLength(4);
  });

  test('finds anew for values that are no text', () => {
    let finds = 0;
    const find = memoByFields(['a'], ({ a }) => ((finds += 1), String(a)));
    expect([1, '1', 1n, null, '1', 1].map((a) => find({ a }))).toEqual(['1', '1', '1', 'null', '1', '1']);
    expect(finds).toBe(5);
  });

  test('begins anew when there is too much to remember', () => {
    let finds = 0;
    const find = memoByFields(['a'], ({ a }) => ((finds += 1), String(a)), 2);
    expect(['1', '2', '3', '1', '1'].map((a) => find({ a }))).toEqual(['1', '2', '3', '1', '1']);
    expect(finds).toBe(4);
  });
});
