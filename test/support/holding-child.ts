/** A program that takes pages of leads in various ways: `tsx holding-child.ts WAY`, with the service in the environment. */
import { fileURLToPath } from 'node:url';
import { NEVER, catchError, concat, count, from, lastValueFrom, mergeMap, of, take, type Observable } from 'rxjs';
import { connect, connectionFromEnvironment, defineSink, deliver, fromPages, join, mapAsync, writeTo } from '../../src/index.js';
import type { Lead, Page, Row, RowStream } from '../../src/index.js';
import { loadPipeline, runPipeline } from '../../src/pipelines.js';

const found = connectionFromEnvironment(process.env);
if ('missing' in found) throw new Error(found.missing);
const { leads } = connect({ ...found, limit: 50, endWaitMs: 1, retry: { attempts: 1 } });
const { pages$: leads$ } = leads;

const log = (text: string) => process.stdout.write(`${text}\n`);
const told = (error: unknown, who = '') =>
  log(`${who}${error instanceof Error && 'code' in error ? `${String(error.code)}: ${error.message}` : 'something'}`);
const ended = (pages$: Observable<unknown>) =>
  lastValueFrom(pages$.pipe(count())).then(
    (pages) => log(`${pages} pages, listeners: ${process.listenerCount('beforeExit')}`),
    (error: unknown) => told(error),
  );

const page: Page = { number: 1, rows: [{ a: '1' }], lease: { release: () => {} } };
const some = (): RowStream<Row> => fromPages(of(page), [column('a')]);
const column = (name: string) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }) as const;
/** A stream that emits a row but never ends. */
const never = () => fromPages<Row>(concat(of(page), NEVER), [column('a')]);
const joined = join<Row, Row, 'b', 'v'>(fromPages<Row>(NEVER), { on: { a: 'id' }, as: 'b', select: ['v'] });
const joinedPages = join<Row, Row, 'b', 'v'>(NEVER, { on: { a: 'id' }, as: 'b', select: ['v'] });

const looped = async (rows: AsyncIterable<unknown>) => {
  for await (const _ of rows);
};
const nobody = () => new Promise<void>(() => {});
const sinkOf = (which: 'begin' | 'write' | 'commit' | 'none') =>
  defineSink(which, {
    open: () => ({ write: () => {}, commit: () => {}, abort: () => log(`${which} aborted`), ...(which !== 'none' && { [which]: nobody }) }),
  });

/** Runs a pipeline file with such a sink, next to this program. */
async function run(which: 'begin' | 'write' | 'commit') {
  const baseDir = fileURLToPath(new URL(`./${which}`, import.meta.url));
  const text = `name: test\nservice: { limit: 50, end_wait: 1ms }\nfrom: users\nto:\n  - ${which}: {}\n`;
  return runPipeline(await loadPipeline({ text, file: 'p.yaml' }, { env: process.env, baseDir, sinks: [sinkOf(which)] }));
}

/** Reads that never end, each reported on its own line. */
const endlessWays: Readonly<Record<string, () => Promise<unknown>>> = {
  loop: () => looped(never()),
  rows$: () => lastValueFrom(never().rows$),
  pages$: () => lastValueFrom(never().pages$),
  toReadable: () => looped(never().toReadable()),
  'cached rows': () => looped(never().cached({ maxAgeMs: 1000 })),
  operator: () => looped(some().pipe(mergeMap(() => NEVER))),
  join: () => looped(some().pipe(joined)),
  'join of pages': () => looped(some().pipe(joinedPages)),
  'join with a list that waits': () =>
    looped(leads.pipe(join<Lead, Row, 'b', 'v'>(NEVER, { on: { bridge_id: 'id' }, as: 'b', select: ['v'] }))),
  'delivered pages': () => lastValueFrom((NEVER as Observable<Page>).pipe(deliver(async () => {}))),
  writeTo: () => writeTo(never(), sinkOf('none')()),
  'write of a sink': () => writeTo(some(), sinkOf('write')()),
  'commit of a sink': () => writeTo(some(), sinkOf('commit')()),
  'begin of a sink in a run': () => run('begin'),
  'write of a sink in a run': () => run('write'),
  'commit of a sink in a run': () => run('commit'),
  'promise of a sink': () => writeTo(some(), new Promise<never>(() => {})),
};

const ways: Readonly<Record<string, () => unknown>> = {
  awaits: () => ended(leads$),
  subscribes: () => leads$.subscribe({ error: (error: unknown) => told(error) }),
  throws: () => {
    process.on('uncaughtException', ({ message }) => log(message));
    leads$.subscribe({
      next: ({ number }) => {
        throw new Error(`page ${number} is too much`);
      },
      error: (error: unknown) => told(error),
      complete: () => setTimeout(() => log('complete'), 100),
    });
  },
  'delivers to nobody': () => ended(leads$.pipe(deliver(() => new Promise<void>(() => {})))),
  'maps for ever': () =>
    ended(
      leads$.pipe(
        mapAsync(({ number, rows }) => (number === 2 ? new Promise<Lead[]>(() => {}) : of(rows)), 3),
        deliver(async () => {}),
      ),
    ),
  'waits for ever': async () => {
    await Promise.all(Object.entries(endlessWays).map(([name, way]) => way().catch((error: unknown) => told(error, `${name}: `))));
    log(`listeners: ${process.listenerCount('beforeExit')}`);
  },
  'waits for ever, and listens to no error': () => never().rows$.subscribe(),
  'leaves what it waits for': async () => {
    await never()[Symbol.asyncIterator]().next();
    log('one row is enough');
  },
  'waits for a timer': () =>
    ended(some().pipe(mergeMap((page) => new Promise<Page>((resolve) => setTimeout(() => resolve(page), 300)))).pages$),
  'goes on with something else': () =>
    ended(never().pages$.pipe(catchError(() => from(new Promise<Page>((resolve) => setTimeout(() => resolve(page), 50)))))),
  'holds a page for long': () =>
    ended(leads$.pipe(deliver(({ number }: Page<Lead>) => new Promise<void>((resolve) => setTimeout(resolve, number === 2 ? 800 : 0))))),
  'takes some': () => ended(leads$.pipe(take(3))),
};

await ways[process.argv[2] ?? '']?.();
