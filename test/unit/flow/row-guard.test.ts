import { compileFunction } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { delay, lastValueFrom, map, toArray } from 'rxjs';
import type { Row, Value } from '../../../src/core/index.js';
import { filterRows, fromPages, liftRows, mapRows, type RowStream, type Step } from '../../../src/flow/index.js';
import { aggregate, cast, derive, filter } from '../../../src/steps/index.js';
import { rowGuard } from '../../../src/vector/index.js';
import { leasedPages } from '../../support/pages.js';

const rows: readonly Row[] = ['1', '2', '3'].map((id) => ({ id, at: '1700000000' }));
const read = <T>(stream: RowStream<T>): Promise<readonly T[]> => lastValueFrom(stream.rows$.pipe(toArray()));
const columnar = () => fromPages(leasedPages([rows]).pages$).pipe(cast<Row>({ at: 'timestamp' }));
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (failure: unknown) => failure,
  );

/** A function of code that is not strict, which Node does not tell that a row is frozen. */
const sloppy = (body: string) => compileFunction(`try { ${body} } catch {}; return true`, ['row']) as (row: Row) => boolean;

const steps: readonly (readonly [name: string, who: string, step: (of: (row: Row) => boolean) => Step<Row, unknown>])[] = [
  ['filter', 'filter', (of) => filter<Row>(of)],
  ['filterRows', 'filterRows', (of) => filterRows<Row>(of)],
  ['mapRows', 'mapRows', (of) => mapRows(of)],
  ['liftRows', 'liftRows', (of) => liftRows(map(of))],
  ['aggregate', 'aggregate: x', (of) => aggregate<Row, [], {}>([], { x: { count: of } })],
  ['derive', 'derive: x', (of) => derive<Row, {}>({ x: { type: 'flag', of } })],
];

const changes: readonly (readonly [what: string, field: string, body: string])[] = [
  ['sets a field', 'id', "if (row.id === '3') row.id = ''"],
  ['adds one', 'more', "if (row.id === '3') row.more = ''"],
  ['removes one', 'id', "if (row.id === '3') delete row.id"],
  ['changes a date', 'at', "if (row.id === '3') row.at.setTime(0)"],
];

describe('a function that changes a row of ours in place, in code that is not strict', () => {
  test.each(
    steps.flatMap(([name, who, step]) => changes.map(([what, field, body]) => [name, what, who, field, step(sloppy(body))] as const)),
  )('is told by %s when it %s', async (_name, _what, who, field, step) => {
    expect(await failureOf(read(columnar().pipe(step)))).toMatchObject({
      code: 'E_STEP_FUNCTION',
      message: `${who}: the function changed the field '${field}' of the row in place for row 3 of page 1; the change would be lost; a function that returns rows must return a new one, like { ...row, … }`,
    });
  });
});

test('what an operator under liftRows keeps is its own: a change that it makes later is in what it gives', async () => {
  const later = liftRows<Row, Row>((row$) =>
    row$.pipe(
      delay(0),
      map((row) => Object.assign(row, { id: 'late' })),
    ),
  );
  expect((await read(columnar().pipe(later))).map(({ id }) => id)).toEqual(['late', 'late', 'late']);
});

test('rows of a program are its own: what it does with them is seen behind the step', async () => {
  const own = rows.map((row) => ({ ...row }));
  const stream = fromPages(leasedPages([own]).pages$).pipe(filter<Row>(sloppy("row.id += '!'")));
  expect(await read(stream)).toEqual(rows.map((row) => ({ ...row, id: `${String(row.id)}!` })));
});

test('mapRows that gives rows back gives those of the page, also in lists', async () => {
  const stream = columnar();
  const lists = await read(stream.pipe(mapRows((row) => [row, { ...row }])));
  expect(lists.map(([row, copy]) => [Object.isFrozen(row), Object.isFrozen(copy)])).toEqual(rows.map(() => [true, false]));
  expect((await read(stream.pipe(mapRows((row) => row)))).every((row) => Object.isFrozen(row))).toBe(true);
});

test('a guard sees every change of a copy, and none where there is none', () => {
  const value = fc.oneof(
    ...[fc.string(), fc.boolean(), fc.bigInt(), fc.double(), fc.date({ noInvalidDate: false }), fc.constant(null)],
  ) as fc.Arbitrary<Value>;
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString'));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), fc.tuple(name, value), fc.boolean(), (fields, [other, set], removes) => {
      const row: Row = Object.fromEntries(fields);
      const guard = rowGuard(Object.keys(row));
      const copy = guard.copy(row) as Record<string, Value>;
      const before = contentOf(copy);
      expect(before).toEqual(contentOf(row));
      expect(guard.changed(copy)).toBeUndefined();
      if (removes) Reflect.deleteProperty(copy, other);
      else Object.defineProperty(copy, other, { value: set, enumerable: true, configurable: true, writable: true });
      expect(guard.changed(copy)).toBe(contentOf(copy) === before ? undefined : other);
    }),
  );
});

/** A row in words; jest takes no two invalid dates for equal. */
function contentOf(row: Row): string {
  return JSON.stringify(Object.entries(row).map(([key, value]) => [key, textOf(value)]));
}

/** A value in words: NaN, -0 and invalid dates are some, too. */
function textOf(value: Value): string {
  if (value instanceof Date) return `date ${value.getTime()}`;
  return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`;
}
