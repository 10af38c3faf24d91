import { describe, expect, test } from '@jest/globals';
import { lastValueFrom, map, of, pipe, toArray } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { StepError, type Column, type Row } from '../../../src/core/index.js';
import { filterRows, fromPages, liftRows, mapRows, RowStream, type Step } from '../../../src/flow/index.js';
import { aggregate, cast, derive, filter, join, mask, rename, select } from '../../../src/steps/index.js';
import { leasedPages } from '../../support/pages.js';
import { sample } from '../steps/support.js';

const rows = ['1', '2', '3'].map((lead_id) => sample('leads', { lead_id, email: 'jane@example.com' }));
const columns = columnsOf(collections.leads);

/** Two pages of leads as a collection gives them: columns and key are known. */
const leads = (key: readonly string[] = ['lead_id']): RowStream<Row> =>
  new RowStream<Row>({
    ...{ columns, withheld: [], key },
    open: () => ({ pages$: leasedPages([rows.slice(0, 1), rows.slice(1)]).pages$, undeclared: () => [], consistency: undefined }),
  });

/** Throws for the last lead, which is row 2 of page 2. */
function failing(row: Row): true {
  if (row.lead_id === '3' || row.id === '3') throw new RangeError(`no: ${String(row.email)}`);
  return true;
}

const failureOf = (stream: RowStream<unknown>): Promise<unknown> =>
  lastValueFrom(stream.rows$.pipe(toArray())).then(
    () => undefined,
    (failure: unknown) => failure,
  );

const said = (who: string, row: string) => ({
  code: 'E_STEP_FUNCTION',
  message: expect.stringMatching(new RegExp(`^${who}: the function threw RangeError \\(at /.*test\\.ts:\\d+:\\d+\\) for ${row}$`)),
  cause: new RangeError('no: jane@example.com'),
});

const keyed = "the row with lead_id '3' \\(row 2 of page 2\\)";

describe('a condition that gives neither true nor false', () => {
  const conditions: readonly (readonly [of: string, gives: unknown])[] = [
    ['a text', 'no'],
    ['undefined', undefined],
    ['null', null],
    ['a number', 0],
    ['a bigint', 1n],
    ['an object', {}],
  ];
  const steps: readonly (readonly [name: string, (gives: unknown) => Step])[] = [
    ['filter', (gives) => filter<Row>(() => gives as boolean)],
    ['filterRows', (gives) => filterRows<Row>(() => gives as boolean)],
    ['aggregate: sold', (gives) => aggregate(['lead_id'], { sold: { count: () => gives as boolean } })],
  ];

  test.each(steps.flatMap(([name, step]) => conditions.map(([kind, gives]) => [name, kind, step(gives)] as const)))(
    'is refused by %s with the key of the row: %s',
    async (name, kind, step) => {
      expect(await failureOf(leads().pipe(step))).toMatchObject({
        code: 'E_STEP_FUNCTION',
        message: `${name}: the function returned ${kind} for the row with lead_id '1' (row 1 of page 1); a condition must return true or false, like lead.lead_status === 'sold'`,
      });
    },
  );
});

describe('a function that throws', () => {
  test.each<[string, Step, string]>([
    ['derive', derive<Row, {}>({ ok: (row: Row) => String(failing(row)) }), 'derive: ok'],
    ['filter', filter<Row>(failing), 'filter'],
    ['filter with a type guard', filter<Row, Row>((row: Row): row is Row => failing(row)), 'filter'],
    ['filterRows', filterRows<Row>(failing), 'filterRows'],
    ['mapRows', mapRows<Row, Row>((row) => ({ ...row, ok: failing(row) })), 'mapRows'],
    ['aggregate', aggregate<Row, [], {}>([], { sold: { count: failing } }), 'aggregate: sold'],
  ])('is told with the key of the row by %s', async (_name, step, who) => {
    expect(await failureOf(leads().pipe(step))).toMatchObject(said(who, keyed));
  });

  test('is told with the key behind steps that keep it, whatever its name and type are there', async () => {
    const narrow = leads().pipe(
      filterRows(() => true),
      rename<Row, { lead_id: 'id' }>({ lead_id: 'id' }),
      cast<Row>({ id: 'integer' }),
      filter<Row>((row) => failing({ ...row, id: String(row.id), email: 'jane@example.com' })),
    );
    expect(await failureOf(narrow)).toMatchObject(said('filter', "the row with id '3' \\(row 2 of page 2\\)"));
  });

  const placed = 'row 2 of page 2';
  const personal = columns.map((column): Column => (column.name === 'lead_id' ? { ...column, sensitivity: 'personal' } : column));

  test.each<[string, RowStream<Row>]>([
    ['nobody knows the key', leads([])],
    ['a part of the key tells of a person', leads(['lead_id', 'email'])],
    ['the key itself tells of a person', fromKnown(personal)],
    ['the key is masked', leads().pipe(mask<Row>({ email: 'null' }), derive<Row, {}>({ lead_id: (row: Row) => row.lead_id }))],
    ['nobody knows the columns', leads().pipe(mapRows<Row, Row>((row) => row))],
  ])('is told with the place of the row alone where %s', async (_why, stream) => {
    const failed = await failureOf(stream.pipe(filter<Row>((row) => failing({ ...row, email: 'jane@example.com' }))));
    expect(failed).toMatchObject(said('filter', placed));
  });

  test('is not told with the key of a row of another stream', async () => {
    const side$ = leads([]).pages$.pipe(filter<Row>(failing));
    const joined = leads().pipe(
      join<Row, Row, string, string>(side$, { on: { lead_id: 'lead_id' }, as: 'other', select: ['email'] }),
      filter<Row>(() => true),
    );
    expect(await failureOf(joined)).toMatchObject(said('filter', placed));
  });

  test('is told with its place in operators that somebody put together', async () => {
    const both = pipe(
      select<Row, string>(['email', 'lead_id']),
      mapRows<Row, Row>((row) => ({ ...row, ok: failing(row) })),
    );
    expect(await failureOf(leads().pipe(both))).toMatchObject(said('mapRows', placed));
  });

  test('is told by an operator under liftRows, with the key of the row that it is given', async () => {
    const lifted = liftRows<Row, boolean>(map(failing));
    expect(await failureOf(leads().pipe(lifted))).toMatchObject(said('liftRows', keyed));
  });

  test('stays what it is when it is a failure of leadstream', async () => {
    const own = new StepError('E_STEP_VALUE', 'mine');
    const throwing = () => {
      throw own;
    };
    expect(await failureOf(leads().pipe(filter<Row>(throwing)))).toBe(own);
    expect(await failureOf(leads().pipe(mapRows(throwing)))).toBe(own);
  });
});

function fromKnown(known: readonly Column[]): RowStream<Row> {
  const open = () => ({ pages$: leasedPages([rows.slice(0, 1), rows.slice(1)]).pages$, undeclared: () => [], consistency: undefined });
  return new RowStream<Row>({ columns: known, withheld: [], key: ['lead_id'], open });
}

describe('a function that gives a promise', () => {
  const promised = () => Promise.resolve('x') as unknown as string;

  test.each<[string, Step<Row, unknown>]>([
    ['derive: ok', derive<Row, {}>({ ok: promised })],
    ['filter', filter<Row>(promised as unknown as () => boolean)],
    ['filterRows', filterRows<Row>(promised as unknown as () => boolean)],
    ['mapRows', mapRows(promised)],
    ['aggregate: sold', aggregate<Row, [], {}>([], { sold: { count: promised as unknown as () => boolean } })],
  ])('is refused by %s', async (who, step) => {
    expect(await failureOf(leads().pipe(step))).toMatchObject({
      code: 'E_STEP_FUNCTION',
      message: `${who}: the function returned a promise for the row with lead_id '1' (row 1 of page 1); a step does not wait for it; mapAsync does`,
    });
  });
});

test('a stream of other pages names places', async () => {
  const stream = fromPages<Row>(of({ number: 7, rows, lease: { release: () => {} } }));
  expect(await failureOf(stream.pipe(mapRows(failing)))).toMatchObject(said('mapRows', 'row 3 of page 7'));
});

test('mapRows takes a declared column that every object inherits for one only where a row has it', async () => {
  const stream = leads().pipe(
    mapRows((row: Row) => (row.lead_id === '2' ? {} : { constructor: String(row.lead_id) }) as { constructor?: string }, {
      columns: { constructor: 'text' },
    }),
  );
  expect((await lastValueFrom(stream.rows$.pipe(toArray()))).map((row) => Object.values(row))).toEqual([['1'], [null], ['3']]);
});
