import { jest } from '@jest/globals';
import { EMPTY, type Observable, catchError, concat, defer, of, retry, take, throwError } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import { type Page, pageOf as byColumns, type RowStream } from '../../../src/flow/index.js';
import { writeTo } from '../../../src/run/index.js';
import { defineSink, type CustomWriter } from '../../../src/sinks/index.js';
import { limit } from '../../../src/steps/index.js';
import { batchFromRows } from '../../../src/vector/index.js';
import { leasedPages } from '../../support/pages.js';
import { knownStream } from '../steps/support.js';

const users = [
  { uid: '1', email: 'a@b.c', affid: null },
  { uid: '2', email: 'd@e.f', affid: '7' },
  { uid: '3', email: '', affid: '7' },
];
const pages = () => leasedPages<Row>([users.slice(0, 2), users.slice(2), []]);
const streamOf = (pages$ = pages().pages$): RowStream<Row> => knownStream(pages$, columnsOf(collections.users), ['uid']);

/** A sink that notes what it is asked to do. */
function noting(overrides: Partial<CustomWriter<Row>> = {}) {
  const calls: unknown[][] = [];
  const sink = defineSink('noting', {
    open: (_, context) => {
      calls.push(['open', Object.keys(context).toSorted()]);
      context.signal.addEventListener('abort', () => void calls.push(['signal']));
      const writer: CustomWriter<Row> = {
        begin: (columns) => void calls.push(['begin', columns.map(({ name, type }) => `${name} ${type}`)]),
        write: (rows, page) => void calls.push(['write', page.number, rows]),
        commit: (written) => void calls.push(['commit', written]),
        abort: () => void calls.push(['abort']),
      };
      return { ...writer, ...overrides };
    },
  });
  return { sink, calls, names: () => calls.map(([name]) => name) };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((failure: unknown) => failure);

const no$ = throwError(() => new Error('no'));
const failing = (pages$: Observable<Page>) => concat(pages$.pipe(take(1)), no$);

/** Fails behind the first page, and at the next subscription not. */
const failingOnce = () => {
  const failed = new WeakSet<object>();
  return (pages$: Observable<Page>) =>
    defer(() => {
      if (failed.has(pages$)) return pages$;
      failed.add(pages$);
      return failing(pages$);
    });
};

const throwing = (): never => {
  throw Object.assign(new Error('user jane@example.com refused'), { code: '23505' });
};

test('a sink that changes the dates of its rows changes those of no other reader', async () => {
  const columns = [{ name: 'at', original: 'at', type: 'timestamp', cast: true, sensitivity: 'plain' }] as const;
  const batch = batchFromRows([{ at: new Date(0) }]);
  const pages$ = of(byColumns<Row>(1, batch, { release: () => {} }));
  const zero = defineSink('zero', {
    types: 'typed',
    open: () => ({
      write: (rows: readonly Row[]) => rows.forEach(({ at }) => (at as Date).setTime(9)),
      commit: () => undefined,
      abort: () => undefined,
    }),
  });
  await writeTo(knownStream(pages$, columns), zero());
  expect(batch.row(0)).toEqual({ at: new Date(0) });
});

describe('a sink of a program', () => {
  test('gets the columns, the rows page by page, and is committed when all were written', async () => {
    const { sink, calls } = noting();
    const { released, pages$ } = pages();
    const written = await writeTo(streamOf(pages$), sink());
    expect(calls).toEqual([
      ['open', ['at', 'baseDir', 'pipeline', 'runDate', 'runId', 'signal']],
      ['begin', ['uid text', 'email text', 'affid text']],
      ['write', 1, users.slice(0, 2)],
      ['write', 2, users.slice(2)],
      ['commit', { rows: 3, partial: false }],
    ]);
    expect(written).toEqual({ rows: 3, bytes: 0, path: undefined, consistency: undefined, steps: [] });
    expect(released).toEqual([1, 2, 3]);
  });

  test.each<[string, (stream: RowStream<Row>) => RowStream<Row>, number, boolean]>([
    ['behind a limit that stopped the read', (stream) => stream.pipe(limit(1)), 1, true],
    ['behind a limit that did not', (stream) => stream.pipe(limit(5)), 3, false],
    ['behind an operator of RxJS that left', (stream) => stream.pipe(take(1)), 2, true],
    [
      'behind a failure that somebody caught',
      (stream) =>
        stream.pipe(
          failing,
          catchError(() => EMPTY),
        ),
      2,
      true,
    ],
    ['behind one that was tried again', (stream) => stream.pipe(failingOnce(), retry(1)), 5, false],
    ['of a cached part', (stream) => stream.pipe(limit(1)).cached({ maxAgeMs: 1_000 }), 1, true],
  ])('is told %s whether it got a part of the list', async (_what, of, rows, partial) => {
    const { sink, calls } = noting();
    const stream = of(streamOf());
    const watch = { warning: () => {} };
    for (let time = 0; time < 2; time += 1) await writeTo(stream, sink(), { columns: columnsOf(collections.users), watch });
    const commits = calls.filter(([name]) => name === 'commit');
    expect(commits).toEqual([1, 2].map(() => ['commit', { rows, partial }]));
  });

  test('is aborted when the write that is under way has ended, which the signal asks for', async () => {
    const controller = new AbortController();
    const order: string[] = [];
    const patient = defineSink('patient', {
      open: (_, { signal }) => ({
        write: () => {
          controller.abort();
          return new Promise<void>((resolve) =>
            signal.addEventListener('abort', () => setTimeout(() => resolve(void order.push('written')), 5)),
          );
        },
        commit: () => {},
        abort: () => void order.push('aborted'),
      }),
    });
    expect(await failureOf(writeTo(streamOf(), patient(), { signal: controller.signal }))).toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(order).toEqual(['written', 'aborted']);
  });

  test('cannot hide what went wrong first by an abort that fails, which is a warning', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const { sink } = noting({ abort: throwing, write: () => Promise.reject(new RangeError('first')) });
    expect(await failureOf(writeTo(streamOf(), sink()))).toMatchObject({ cause: new RangeError('first') });
    const message = expect.stringMatching(/^noting: abort failed with Error 23505/);
    expect(warned.mock.calls).toEqual([[message, { type: 'LeadstreamWarning', code: 'W_SINK_ABORT' }]]);
    warned.mockRestore();
  });
});
