import { concatMap, lastValueFrom, map, pipe, retry, take } from 'rxjs';
import { amountOf, type Column, type Row } from '../../../src/core/index.js';
import { fromPages, type Page, type RowStream, type Step } from '../../../src/flow/index.js';
import { writeTo } from '../../../src/run/index.js';
import { defineSink } from '../../../src/sinks/index.js';
import { filter, join, limit, type JoinOptions } from '../../../src/steps/index.js';
import { leasedPages, turns } from '../../support/pages.js';
import { heldWarnings } from '../../support/warnings.js';

const columns = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }));

/** Five rows on three pages: as many of them have a match as it is told. */
const left = (matching = 0): RowStream<Row> => {
  const rows = [1, 2, 3, 4, 5].map((id) => ({ id: id <= matching ? 'x' : String(id) }));
  return fromPages<Row>(leasedPages([rows.slice(0, 2), rows.slice(2, 4), rows.slice(4)]).pages$, columns('id'));
};
const right = () => fromPages<Row>(leasedPages([[{ id: 'x', v: 'y' }]]).pages$, columns('id', 'v'));

type Options = Partial<JoinOptions<Row, Row, 'b', string>>;
const joining = (options: Options = {}): Step =>
  join<Row, Row, 'b', string>(right(), { on: { id: 'id' }, as: 'b', select: ['v'], ...options });

/** A sink that notes how it ended. */
function noting() {
  const ends: string[] = [];
  const sink = defineSink('noting', {
    open: () => ({ write: () => {}, commit: () => void ends.push('committed'), abort: () => void ends.push('aborted') }),
  });
  return { sink, ends };
}

async function looped(stream: RowStream<Row>): Promise<number> {
  let rows = 0;
  for await (const _ of stream) rows += 1;
  return rows;
}

async function refusedBySink(stream: RowStream<Row>): Promise<void> {
  const { sink, ends } = noting();
  await writeTo(stream, sink(), { columns: columns('id', 'b_v') }).finally(() => expect(ends).toEqual(['aborted']));
}

const refusal = (rows: number) => ({
  code: 'E_GATE_MATCH',
  message: `join: 0.00% of ${amountOf(rows, 'row')} matched, expected at least 95%`,
});
/** What ends the read before all rows have come, and how many rows the join has seen by then. */
const endings: readonly (readonly [string, Step, number])[] = [
  ['limit', limit(3), 4],
  ['an operator of RxJS', take(2), 4],
  ['steps one behind the other', pipe(limit(4), take(1)), 2],
];

describe('matches are judged', () => {
  const warnings = heldWarnings();

  describe('a step that ends the stream leaves the matches to be judged', () => {
    const ways: readonly (readonly [string, (stream: RowStream<Row>) => Promise<unknown>])[] = [
      ['a loop', looped],
      ['rows$', ({ rows$ }) => lastValueFrom(rows$)],
      ['pages$', ({ pages$ }) => lastValueFrom(pages$)],
      ['toReadable', async (stream) => stream.toReadable().toArray()],
      ['cached', (stream) => looped(stream.cached({ maxAgeMs: 1000 }))],
      ['writeTo, which publishes nothing', refusedBySink],
    ];
    const gated = { minMatch: '95%' } as const;

    test.each(endings)('%s, in all ways to read', async (_what, step, rows) => {
      for (const [, read] of ways) await expect(read(left().pipe(joining(gated), step))).rejects.toMatchObject(refusal(rows));
      expect(warnings()).toEqual([]);
    });
  });

  test('a read of which a part is tried again is judged, and counted, without the attempt that a later step ended', async () => {
    // What is pushed at one go is counted before anybody can leave.
    const inTurns = concatMap((page: Page) => Promise.resolve(page));
    let calls = 0;
    const failing = map((page: Page) => {
      if ((calls += 1) === 1) throw new Error('once');
      return page;
    });
    const stream = left(3).pipe(
      inTurns,
      filter(({ id }) => id !== '5'),
      joining({ minMatch: '75%' }),
      failing,
      retry(1),
    );
    expect(await looped(stream)).toBe(4);
    expect(stream.steps).toMatchObject([
      { at: 'filter', tally: { filtered: 1 } },
      { at: 'join', tally: { matched: 3, missed: 1 } },
    ]);
    const none = left().pipe(inTurns, joining({ minMatch: '75%' }), failing, retry(1));
    await expect(looped(none)).rejects.toMatchObject({ message: /0\.00% of 5 rows/ });
  });

  const foreign = map((page: Page) => page);
  test.each<[string, Step]>([
    ['steps', pipe(joining({ minMatch: '95%' }), limit(3))],
    ['steps behind an operator of RxJS', pipe(foreign, joining({ minMatch: '95%' }), foreign, limit(3))],
  ])('a join inside of an operator that is made of several %s belongs to the read, too', async (_what, made) => {
    await expect(refusedBySink(left().pipe(made))).rejects.toMatchObject(refusal(4));
  });

  /** The same with a page in a turn of the event loop, so that streams take turns. */
  const slowly = (matching: number) => left(matching).pipe(concatMap(async (page) => turns(1).then(() => page)));

  test('a join behind pages$ judges each stream by its own rows, whatever others there are at the same time', async () => {
    const step = joining({ minMatch: '60%' });
    const read = (matching: number) =>
      lastValueFrom(slowly(matching).pages$.pipe(step)).then(
        () => 'enough',
        ({ message }: Error) => message,
      );
    expect(await Promise.all([read(5), read(1)])).toEqual(['enough', 'join: 20.00% of 5 rows matched, expected at least 60%']);
  });
});
