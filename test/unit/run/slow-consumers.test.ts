import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { lastValueFrom } from 'rxjs';
import type { Column } from '../../../src/core/index.js';
import { deliver, fromPages, mapAsync, type Page, type RowStream } from '../../../src/flow/index.js';
import { writeTo } from '../../../src/run/index.js';
import type { PreparedOutput, SinkWriter } from '../../../src/sinks/index.js';
import { join } from '../../../src/steps/index.js';
import { countedFetch, pagedSource, turns } from '../../support/pages.js';

type Numbered = Readonly<Record<'n', string>>;

const pages = 24;
const perPage = 10;
const window = 4;
const column: Column = { name: 'n', original: 'n', type: 'text', cast: false, sensitivity: 'plain' };

/** Counts the rows that a slow consumer is done with, and how many pages the source was asked for beyond them. */
class Pace {
  taken = 0;
  ahead = 0;
  readonly source = countedFetch<Numbered>(
    (page) => (page > pages ? [] : Array.from({ length: perPage }, (_, row) => ({ n: String((page - 1) * perPage + row) }))),
    () => 1,
  );

  readonly rows: RowStream<Numbered> = fromPages(pagedSource(this.source.fetch, { window, concurrency: 2 }), [column]);

  /** Takes some rows, slowly. */
  async take(rows: number): Promise<void> {
    await turns(rows > 1 ? 12 : 2);
    this.taken += rows;
    // Pages that nobody has taken to their end yet; behind the list it is looked at again.
    this.ahead = Math.max(this.ahead, Math.min(pages, Math.max(...this.source.asked)) - Math.floor(this.taken / perPage));
  }

  /** A stream of Node that takes a while for each chunk. */
  slow(rowsIn: (chunk: unknown) => number, objectMode: boolean): Writable {
    return new Writable({
      objectMode,
      highWaterMark: 1,
      write: (chunk, _encoding, done) => void this.take(rowsIn(chunk)).then(() => done(), done),
    });
  }
}

/** A sink that takes a while for each page. */
function slowSink(pace: Pace): SinkWriter {
  const prepared: PreparedOutput = {
    ...{ rows: 0, bytes: 0, total: 0, unchanged: 0, changed: 0 },
    actions: () => Promise.resolve([]),
    cleanup: () => Promise.resolve(),
  };
  return {
    begin: () => Promise.resolve(),
    write: (page) => pace.take(page.rows.length),
    prepare: () => Promise.resolve(prepared),
    abort: () => Promise.resolve(),
  };
}

async function all(rows: AsyncIterable<unknown>, pace: Pace): Promise<void> {
  for await (const _ of rows) await pace.take(1);
}

const one = () => 1;
const taking = (pace: Pace) => async (page: Page<Numbered>) => pace.take(page.rows.length).then(() => page.rows);

/** A chunk that is on its way through two streams of Node, a page of rows each at most. */
const buffered = 2;

test.each<[string, (pace: Pace) => Promise<unknown>, number]>([
  ['a loop', (pace) => all(pace.rows, pace), 0],
  ['a loop over a stream of Node', (pace) => all(pace.rows.toReadable(), pace), buffered],
  ['a pipeline of Node', (pace) => pipeline(pace.rows.toReadable(), pace.slow(one, true)), 2 * buffered],
  ['mapAsync', (pace) => lastValueFrom(pace.rows.pages$.pipe(mapAsync(taking(pace), 2))), 0],
  ['deliver', (pace) => lastValueFrom(pace.rows.pages$.pipe(deliver(({ rows }) => pace.take(rows.length)))), 0],
  ['writeTo with a slow sink', (pace) => writeTo(pace.rows, slowSink(pace)), 0],
  [
    'a loop behind a join with a cached side, which a quick loop shares',
    async (pace) => {
      const side = new Pace().rows.cached({ maxAgeMs: Infinity });
      const joined = (left: Pace) => left.rows.pipe(join(side, { on: { n: 'n' }, as: 'other', select: ['n'] }));
      const quick = new Pace();
      let rows = 0;
      const slow = all(joined(pace), pace);
      for await (const { n, other_n } of joined(quick)) rows += n === other_n ? 1 : 0;
      expect(rows).toBe(pages * perPage);
      expect(pace.taken).toBeLessThan(pages * perPage);
      await slow;
    },
    0,
  ],
])('%s is never further ahead than the window, and takes every row', async (_what, consume, more) => {
  const pace = new Pace();
  await consume(pace);
  expect(pace.taken).toBe(pages * perPage);
  expect(pace.ahead).toBeGreaterThan(1);
  expect(pace.ahead).toBeLessThanOrEqual(window + more);
});
