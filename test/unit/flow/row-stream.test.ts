import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { from, lastValueFrom, of, tap, toArray } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row } from '../../../src/core/index.js';
import { fromPages, mapRows, type RowStream, type Step } from '../../../src/flow/index.js';
import { aggregate, cast, dedupe, derive, explode, join, limit, mask, rename, select } from '../../../src/steps/index.js';
import { leasedPages } from '../../support/pages.js';
import { sample as sampleRow } from '../steps/support.js';

const leads = (rows: readonly Row[] = [sampleRow('leads')]): RowStream<Row> =>
  fromPages(leasedPages([rows]).pages$, columnsOf(collections.leads));
const bridges = () => fromPages<Row>(leasedPages([[sampleRow('bridges', { id: 'text' })]]).pages$, columnsOf(collections.bridges));

const shown = (columns: readonly Column[] | undefined) =>
  columns?.map(({ name, type, cast: isCast, sensitivity }) => [name, isCast ? type : `text of ${type}`, sensitivity].join(' '));

describe('columns travel through', () => {
  const narrow = select<Row, string>(['lead_id', 'age', 'email', 'bridge_id']);
  const before = [
    'lead_id text of text plain',
    'age text of integer personal',
    'email text of text personal',
    'bridge_id text of text plain',
  ];
  const [id, age, email, bridge] = before;

  test.each<[string, Step, readonly (string | undefined)[]]>([
    ['dedupe', dedupe<Row>(['lead_id']), before],
    ['select', select<Row, string>(['email', 'age']), [email, age]],
    ['rename', rename<Row, { lead_id: 'id' }>({ lead_id: 'id' }), ['id text of text plain', age, email, bridge]],
    ['cast', cast<Row>({ age: 'integer' }), [id, 'age integer personal', email, bridge]],
    ['mask', mask<Row>({ age: 'drop', email: 'redact' }), [id, 'email text plain', bridge]],
    [
      'derive',
      derive<Row, {}>({ n: { type: 'decimal', of: () => 1 }, t: () => 'x' }),
      [...before, 'n decimal personal', 't text personal'],
    ],
    ['explode', explode<Row>('email', { separator: ',', position: 'no' }), [...before, 'no integer plain']],
    [
      'join',
      join<Row, Row, string, string>(bridges(), { on: { bridge_id: 'id' }, as: 'b', select: ['name', 'timestamp'] }),
      [...before, 'b_name text of text personal', 'b_timestamp text of timestamp plain'],
    ],
    [
      'aggregate',
      aggregate<Row, ['email', { field: 'age'; type: 'integer' }], {}>(['email', { field: 'age', type: 'integer' }], {
        n: 'count',
        oldest: { max: 'age', type: 'integer' },
      }),
      ['email text personal', 'age integer personal', 'n integer plain', 'oldest integer personal'],
    ],
  ])('%s, whose rows have them in this order', async (_what, step, expected) => {
    const row = sampleRow('leads', { bridge_id: 'text' });
    const stream = leads([row]).pipe(narrow, step);
    expect(shown(stream.columns)).toEqual(expected);
    for await (const made of stream) expect(Object.keys(made)).toEqual(stream.columns?.map(({ name }) => name));
  });

  test('no operator that is not of leadstream, and no join with pages whose columns nobody knows', () => {
    const stream = leads();
    expect(stream.pipe(tap(() => {})).columns).toBeUndefined();
    expect(
      stream.pipe(
        tap(() => {}),
        limit(5),
      ).columns,
    ).toBeUndefined();
    expect(stream.pipe(mapRows((row: Row) => row)).columns).toBeUndefined();
    const unknown = join<Row, Row, string, string>(bridges().pages$, { on: { bridge_id: 'id' }, as: 'b', select: ['name'] });
    expect(stream.pipe(unknown).columns).toBeUndefined();
  });
});

describe('pipe', () => {
  const on = { bridge_id: 'id' };
  test.each<[string, () => unknown, string]>([
    ['fields that are not there', () => leads().pipe(select<Row, string>(['leadid'])), "select: unknown field 'leadid'"],
    [
      'a field of the other side that is not there',
      () => leads().pipe(join<Row, Row, string, string>(bridges(), { on, as: 'b', select: ['titel'] })),
      "join: the other side has no field 'titel'",
    ],
  ])('refuses %s, at once', (_what, piped, message) => {
    expect(piped).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }));
  });

  test('refuses, by the stream, an operator that gives no pages', async () => {
    const stream = leads().pipe(limit(5), (() => of(5)) as never);
    await expect(lastValueFrom(stream.rows$)).rejects.toThrow(
      'pipe: operator 2 must emit pages, not a number; operators for rows go after .rows$, and operators that emit pages only in combination are passed as one, with pipe(…) of rxjs',
    );
  });
});

test('all ways to take rows give the same ones, in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.record({ a: fc.string() }), { maxLength: 4 }), { maxLength: 6 }), async (lists) => {
      const stream = fromPages(from(leasedPages(lists).pages));
      const all = lists.flat();
      const [looped, read]: unknown[][] = [[], []];
      for await (const row of stream) looped?.push(row);
      for await (const row of stream.toReadable()) read?.push(row);
      const rows = await lastValueFrom(stream.rows$.pipe(toArray()));
      const pages = await lastValueFrom(stream.pages$.pipe(toArray()));
      const lines = await text(stream.toReadable('ndjson'));
      expect([looped, read, rows, pages.flatMap((page) => page.rows)]).toEqual([all, all, all, all]);
      expect(
        lines
          .split('\n')
          .slice(0, -1)
          .map((line): unknown => JSON.parse(line)),
      ).toEqual(all);
    }),
  );
});
