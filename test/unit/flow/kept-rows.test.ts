import { compileFunction } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { EMPTY, concatMap, last, lastValueFrom, map, of, pairwise, tap, toArray, type OperatorFunction } from 'rxjs';
import type { Row } from '../../../src/core/index.js';
import { fromPages, liftRows, mapRows, pageOf, type RowStream, type Step } from '../../../src/flow/index.js';
import { cast, defineStep, derive, filter } from '../../../src/steps/index.js';
import { batchOfTexts } from '../../support/batches.js';

/** Two pages of ours, by columns. */
const stream = (): RowStream<Row> =>
  fromPages(
    of(
      ...[
        ['1', '2'],
        ['3', '4'],
      ].map((ids, index) => pageOf<Row>(index + 1, batchOfTexts(ids.map((id) => ({ id, next: '' }))), { release: () => {} })),
    ),
  );
const read = <T>(rows: RowStream<T>): Promise<readonly T[]> => lastValueFrom(rows.rows$.pipe(toArray()));
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (failure: unknown) => failure,
  );
const said = (message: string | RegExp) => ({ code: 'E_STEP_FUNCTION', message: expect.stringMatching(message) });
const frozen = 'rows are frozen once they are read or returned, because a change would be lost';

type Writable = Record<string, Row[string]>;

/** A function that changes the row before the one that it is shown, in code that is not strict. */
const keeping = () =>
  compileFunction('const before = this.before; if (before) before.next = row.id; this.before = row; return row', ['row']).bind({}) as (
    row: Row,
  ) => Row;

describe('a function that keeps a row and changes it with the next', () => {
  test.each<[string, (of: (row: Row) => Row) => Step<Row, unknown>]>([
    ['mapRows', (of) => mapRows(of)],
    ['derive: more', (of) => derive<Row, {}>({ more: (row: Row) => of(row).id ?? null })],
    ['filter', (of) => filter<Row>((row: Row) => Boolean(of(row)))],
    ['next_id', (of) => defineStep('next_id', { adds: { next: 'text' }, open: () => of })()],
  ])('is told by %s, with the row that it changed', async (who, step) => {
    expect(await failureOf(read(stream().pipe(step(keeping()))))).toMatchObject(
      said(`^${who}: the function changed the field 'next' of the row in place for row 1 of page 1; the change would be lost`),
    );
  });

  const rowsOfOne = fromPages(
    of(...['1', '2'].map((id, index) => pageOf<Row>(index + 1, batchOfTexts([{ id, next: '' }]), { release: () => {} }))),
  );

  test.each<[string, () => Step<Row, unknown>]>([
    ['mapRows', () => mapRows(strictly((row) => row))],
    ['next_id', () => defineStep('next_id', { adds: { next: 'text' }, open: () => strictly((row) => row) })()],
    ['liftRows', () => liftRows(map(strictly((row) => row)))],
  ])('is told by %s when that comes with the next page', async (who, step) => {
    expect(await failureOf(read(rowsOfOne.pipe(step())))).toMatchObject(
      said(new RegExp(`^${who}: the function threw TypeError \\(.*\\) for row 1 of page 2; ${frozen}`)),
    );
  });

  test('is told when it changes a row of its own that it gave, of which columns were made', async () => {
    const changed = said(`the function changed the field 'next' of the row in place for row 1 of page 1`);
    const given = () => strictly((row) => ({ ...row }));
    const own = defineStep('own', { adds: { next: 'text' }, open: given });
    expect(await failureOf(read(stream().pipe(own())))).toMatchObject(changed);
    const columns = { id: 'text', next: 'text' } as never;
    expect(await failureOf(read(stream().pipe(mapRows(given(), { columns }))))).toMatchObject(changed);
  });

  test('may do with rows of its own what it likes when their page is done', async () => {
    const own: Writable[] = [];
    const given = (row: Row) => (own.push({ ...row }), own.at(-1) ?? row);
    await read(stream().pipe(mapRows(given, { columns: { id: 'text', next: 'text' } as never })));
    for (const row of own) row.next = 'mine';
    expect(own.every((row) => row.next === 'mine')).toBe(true);
  });

  test('is told when it gives one object for all rows', async () => {
    const one: Writable = {};
    const same = mapRows((row: Row) => Object.assign(one, row), { columns: { id: 'text', next: 'text' } as never });
    expect(await failureOf(read(stream().pipe(same)))).toMatchObject(said("changed the field 'id'"));
  });

  test('may change a date that it gave: the column has what it was', async () => {
    const date = new Date(0);
    const dated = derive<Row, {}>({ at: { type: 'timestamp', of: (row: Row) => (date.setTime(Number(row.id)), date) } });
    expect((await read(stream().pipe(dated))).map((row) => (row as Row).at)).toEqual([1, 2, 3, 4].map((time) => new Date(time)));
  });

  test('has it in what goes out, under liftRows, as long as the operator has not given the row', async () => {
    const paired = liftRows<Row, Row>((row$) =>
      row$.pipe(
        pairwise(),
        map(([before, row]) => Object.assign(before, { next: row.id })),
      ),
    );
    expect(await read(stream().pipe(paired))).toEqual([
      { id: '1', next: '2' },
      { id: '2', next: '3' },
      { id: '3', next: '4' },
    ]);
  });
});

/** What it gives for a row, whose field it fills in when the next row comes. */
function strictly(given: (row: Row) => Row): (row: Row) => Row {
  let before: Writable | undefined;
  return (row) => {
    if (before) before.next = row.id ?? null;
    return (before = given(row));
  };
}

describe('a function that changes what no loop over fields shows', () => {
  const changes: readonly (readonly [string, (row: Row) => unknown, string])[] = [
    ['a symbol', (row) => Object.assign(row, { [Symbol('mine')]: '1' }), 'Symbol\\(mine\\)'],
    ['a field that is not enumerable', (row) => Object.defineProperty(row, 'more', { value: '1' }), 'more'],
    ['a field of ours that is no longer enumerable', (row) => Object.defineProperty(row, 'id', { enumerable: false }), 'id'],
    ['a prototype with fields', (row) => Object.setPrototypeOf(row, { more: '1' }) as unknown, '__proto__'],
    ['a prototype with methods', (row) => Object.setPrototypeOf(row, Map.prototype) as unknown, '__proto__'],
  ];
  test.each(changes)('is told when it sets %s', async (_what, change, field) => {
    for (const step of [mapRows(change), liftRows(map(change))])
      expect(await failureOf(read(stream().pipe(step)))).toMatchObject(said(`changed the field '${field}' of the row in place for row 1`));
  });
});

describe('an operator under liftRows that fails', () => {
  const failing = (): never => {
    throw new RangeError('jane@example.com');
  };
  test.each<[string, OperatorFunction<Row, unknown>, RegExp]>([
    [
      'later',
      concatMap(() => Promise.reject(new RangeError('jane@example.com'))),
      /^liftRows: the operator threw RangeError.* after page 2$/,
    ],
    ['at the end', (row$) => row$.pipe(toArray(), map(failing)), /^liftRows: the operator threw RangeError.* after page 2$/],
    ['when it is given a row', tap(failing), /^liftRows: the function threw RangeError.* for row 1 of page 1$/],
  ])('%s is told with where it was', async (_when, operator, message) => {
    expect(await failureOf(read(stream().pipe(liftRows(operator))))).toMatchObject({
      ...said(message),
      cause: new RangeError('jane@example.com'),
    });
  });

  test('when it is applied is told, too', async () => {
    const message = /^liftRows: the operator threw RangeError.* before the first page$/;
    expect(await failureOf(read(stream().pipe(liftRows(failing))))).toMatchObject(said(message));
  });

  test('for want of rows is told, too', async () => {
    const none = fromPages<Row>(EMPTY).pipe(liftRows(last()));
    expect(await failureOf(read(none))).toMatchObject(said(/^liftRows: the operator threw EmptyError.* before the first page$/));
  });
});

describe('rows with dates', () => {
  const typed = () =>
    fromPages(of(pageOf<Row>(1, batchOfTexts([{ id: '1', at: '0' }]), { release: () => {} }))).pipe(cast<Row>({ at: 'timestamp' }));

  test('keep theirs behind an operator that changes those of a page', async () => {
    const changing = tap<{ readonly rows: readonly Row[] }>(({ rows }) => rows.forEach(({ at }) => (at as Date).setTime(1)));
    const stepped = typed().pipe(
      changing as never,
      filter<Row>(() => true),
      derive<Row, {}>({ same: (row: Row) => String((row.at as Date).getTime()) }),
    );
    expect(await read(stepped)).toEqual([{ id: '1', at: new Date(0), same: '0' }]);
  });
});
