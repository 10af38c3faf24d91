import { lastValueFrom, of, toArray } from 'rxjs';
import type { Row } from '../../../src/core/index.js';
import { fromPages, type RowStream } from '../../../src/flow/index.js';
import { cast, filter, join } from '../../../src/steps/index.js';
import { leasedPages, pageOf } from '../../support/pages.js';

const maxAgeMs = Infinity;
const read = async <T>(stream: RowStream<T>): Promise<readonly T[]> => {
  const rows: T[] = [];
  for await (const row of stream) rows.push(row);
  return rows;
};

/** Rows of a program, with a value of each kind that can be changed. */
const made = () => ({
  id: '1',
  at: new Date(0),
  tags: ['a'],
  of: { since: new Date(1), bare: Object.assign(Object.create(null), { n: 1 }) as object },
});
type Made = ReturnType<typeof made>;

const changes: readonly (readonly [string, (row: Made) => unknown])[] = [
  ['a field', (row) => (row.id = 'changed')],
  ['a new field', (row) => Object.assign(row, { more: 1 })],
  ['a date', (row) => row.at.setTime(9)],
  ['a list', (row) => row.tags.push('b')],
  ['an object', (row) => Object.assign(row.of.bare, { n: 2 })],
  ['a date in an object', (row) => row.of.since.setTime(9)],
];

describe('rows of a cached stream that one reader changes', () => {
  const readers: readonly (readonly [string, (stream: RowStream<Made>, change: (row: Made) => unknown) => Promise<unknown>])[] = [
    [
      'a loop',
      async (stream, change) => {
        for await (const row of stream) change(row);
      },
    ],
    ['a subscriber', (stream, change) => lastValueFrom(stream.rows$.pipe(toArray())).then((rows) => rows.forEach(change))],
    ['a stream of Node', (stream, change) => stream.toReadable().forEach((row: Made) => void change(row))],
    ['a step', (stream, change) => read(stream.pipe(filter((row) => Boolean(change(row)) || true)))],
    ['an operator', (stream, change) => lastValueFrom(stream.pages$).then(({ rows }) => rows.forEach(change))],
  ];

  test.each(readers.flatMap(([reader, by]) => changes.map(([what, change]) => [reader, what, by, change] as const)))(
    'are no others for the next one: %s, %s',
    async (_reader, _what, by, change) => {
      const cached = fromPages(of(pageOf(1, [made()]))).cached({ maxAgeMs });
      // What cannot be changed throws; a date can, and is the reader's own.
      await by(cached, change).catch(() => undefined);
      expect(await read(cached)).toEqual([made()]);
      await by(cached, change).catch(() => undefined);
      expect(await read(cached)).toEqual([made()]);
    },
  );

  test('are no others for a join with them as its other side', async () => {
    const side = fromPages(of(pageOf(1, [made()]))).cached({ maxAgeMs });
    for await (const row of side) row.at.setTime(9);
    const leads = fromPages(of(pageOf<Row>(1, [{ lead: '1' }])));
    const joined = leads.pipe(join(side as never, { on: { lead: 'id' }, as: 'side', select: ['at'] }));
    expect(await read(joined as RowStream<unknown>)).toEqual([{ lead: '1', side_at: new Date(0) }]);
  });

  test('are no others where they came by columns', async () => {
    const cached = fromPages(leasedPages<Row>([[{ id: '1', at: '0' }]]).pages$)
      .pipe(cast<Row>({ at: 'timestamp' }))
      .cached({ maxAgeMs });
    for await (const { at } of cached) (at as Date).setTime(9);
    await lastValueFrom(cached.pages$).then(({ rows }) => rows.forEach(({ at }) => (at as Date).setTime(9)));
    expect(await read(cached)).toEqual([{ id: '1', at: new Date(0) }]);
  });
});

test('rows of a program that a cached stream keeps are copies: the program may go on with its own', async () => {
  const own = made();
  const cached = fromPages(of(pageOf(1, [own]))).cached({ maxAgeMs });
  await read(cached);
  own.tags.push('b');
  expect(await read(cached)).toEqual([made()]);
});
