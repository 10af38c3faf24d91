/** A program that takes the pages of leads in some way: `tsx holding-child.ts WAY`, with the service in the environment. */
import { count, lastValueFrom, of, take, type Observable } from 'rxjs';
import { connect, connectionFromEnvironment, deliver, mapAsync, type Lead, type Page } from '../../src/index.js';

const found = connectionFromEnvironment(process.env);
if ('missing' in found) throw new Error(found.missing);
const { pages$: leads$ } = connect({ ...found, limit: 50, endWaitMs: 1, retry: { attempts: 1 } }).leads;

const log = (text: string) => process.stdout.write(`${text}\n`);
const told = (error: unknown) => log(error instanceof Error && 'code' in error ? `${String(error.code)}: ${error.message}` : 'something');
const ended = (pages$: Observable<unknown>) =>
  lastValueFrom(pages$.pipe(count())).then((pages) => log(`${pages} pages, listeners: ${process.listenerCount('beforeExit')}`), told);

const ways: Readonly<Record<string, () => unknown>> = {
  awaits: () => ended(leads$),
  subscribes: () => leads$.subscribe({ error: told }),
  throws: () => {
    process.on('uncaughtException', ({ message }) => log(message));
    leads$.subscribe({
      next: ({ number }) => {
        throw new Error(`page ${number} is too much`);
      },
      error: told,
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
  'holds a page for long': () =>
    ended(leads$.pipe(deliver(({ number }: Page<Lead>) => new Promise<void>((resolve) => setTimeout(resolve, number === 2 ? 800 : 0))))),
  'takes some': () => ended(leads$.pipe(take(3))),
};

await ways[process.argv[2] ?? '']?.();
