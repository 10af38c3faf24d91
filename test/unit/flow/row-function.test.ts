import { lastValueFrom, toArray } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { type Column, type Row } from '../../../src/core/index.js';
import { fromPages, mapRows, type RowStream, type Step } from '../../../src/flow/index.js';
import { aggregate, cast, derive, filter, join, mask, select } from '../../../src/steps/index.js';
import { leasedPages } from '../../support/pages.js';
import { knownStream, sample } from '../steps/support.js';

const rows = ['1', '2', '3'].map((lead_id) => sample('leads', { lead_id, email: 'jane@example.com' }));
const columns = columnsOf(collections.leads);

/** Two pages of leads as a collection gives them. */
const leads = (key = ['lead_id'], known: readonly Column[] = columns): RowStream<Row> =>
  knownStream(leasedPages([rows.slice(0, 1), rows.slice(1)]).pages$, known, key);

/** Throws for the last lead, which is row 2 of page 2. */
function failing(row: Row): true {
  if (row.lead_id === '3' || row.id === '3') throw new RangeError(`no: ${String(row.email)}`);
  return true;
}

const failureOf = (stream: RowStream<unknown>): Promise<unknown> =>
  lastValueFrom(stream.rows$.pipe(toArray())).catch((failure: unknown) => failure);

const said = (who: string, row: string) => ({
  code: 'E_STEP_FUNCTION',
  message: expect.stringMatching(new RegExp(`^${who}: the function threw RangeError \\(at /.*test\\.ts:\\d+:\\d+\\) for ${row}$`)),
  cause: new RangeError('no: jane@example.com'),
});

const keyed = "the row with lead_id '3' \\(row 2 of page 2\\)";

describe('a function that throws', () => {
  test.each<[string, Step, string]>([
    ['derive', derive<Row, {}>({ ok: (row: Row) => String(failing(row)) }), 'derive: ok'],
    ['filter', filter<Row>(failing), 'filter'],
    ['mapRows', mapRows<Row, Row>((row) => ({ ...row, ok: failing(row) })), 'mapRows'],
    ['aggregate', aggregate<Row, [], {}>([], { sold: { count: failing } }), 'aggregate: sold'],
  ])('is told with the key of the row by %s', async (_name, step, who) => {
    expect(await failureOf(leads().pipe(step))).toMatchObject(said(who, keyed));
  });

  const placed = 'row 2 of page 2';
  const personal = columns.map((column): Column => (column.name === 'lead_id' ? { ...column, sensitivity: 'personal' } : column));

  test.each<[string, RowStream<Row>]>([
    ['nobody knows the key', leads([])],
    ['a part of the key tells of a person', leads(['lead_id', 'email'])],
    ['the key itself tells of a person', leads(['lead_id'], personal)],
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
});

const promised = () => Promise.resolve('x') as unknown as string;
const conditional = (gives: unknown) => () => gives as boolean;
const wrong = {
  promise: 'a promise for ROW; a step does not wait for it; mapAsync does',
  text: "a text for ROW; a condition must return true or false, like lead.lead_status === 'sold'",
  object: "an object for ROW; a condition must return true or false, like lead.lead_status === 'sold'",
};

test.each<[string, keyof typeof wrong, Step<Row, unknown>]>([
  ['derive: ok', 'promise', derive<Row, {}>({ ok: promised })],
  ['filter', 'promise', filter<Row>(conditional(promised()))],
  ['mapRows', 'promise', mapRows(promised)],
  ['aggregate: sold', 'promise', aggregate<Row, [], {}>([], { sold: { count: conditional(promised()) } })],
  ['filter', 'text', filter<Row>(conditional('no'))],
  ['aggregate: sold', 'object', aggregate(['lead_id'], { sold: { count: conditional({}) } })],
])('a function of %s that gives a wrong %s is refused, with the key of the row', async (who, what, step) => {
  const message = `${who}: the function returned ${wrong[what]}`.replace('ROW', "the row with lead_id '1' (row 1 of page 1)");
  expect(await failureOf(leads().pipe(step))).toMatchObject({ code: 'E_STEP_FUNCTION', message });
});

describe('rows of leadstream are frozen', () => {
  const columnar = (): RowStream<Row> => leads().pipe(select(['lead_id', 'zipcode']));
  const change = (row: Row) => Object.assign(row, { zipcode: '' });

  test.each<[string, Step<Row, unknown>]>([
    ['filter', filter<Row>((row) => Boolean(change(row)))],
    ['mapRows', mapRows(change)],
    ['derive: x', derive<Row, {}>({ x: (row: Row) => change(row).zipcode })],
  ])('so that %s tells of a function that changes one in place', async (who, step) => {
    expect(await failureOf(columnar().pipe(step))).toMatchObject({
      code: 'E_STEP_FUNCTION',
      message: expect.stringMatching(new RegExp(`^${who}: the function threw TypeError .* for the row with lead_id '1'`)),
    });
  });

  test('but for their dates, of which each function has its own', async () => {
    const dated = fromPages<Row>(leasedPages([[{ at: '0' }]]).pages$).pipe(
      cast<Row>({ at: 'timestamp' }),
      filter<Row>((row) => (row.at as Date).setTime(1) === 1),
      derive<Row, {}>({ same: (row: Row) => String((row.at as Date).getTime()) }),
    );
    expect(await lastValueFrom(dated.rows$)).toEqual({ at: new Date(0), same: '0' });
  });
});
