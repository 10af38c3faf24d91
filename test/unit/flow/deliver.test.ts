import { Subject, firstValueFrom, lastValueFrom, throwError, timer } from 'rxjs';
import { deliver, type Page } from '../../../src/flow/index.js';
import { leasedPages, marbles, pageOf, turns } from '../../support/pages.js';

const pages = { a: pageOf(1, ['x']), b: pageOf(2, ['y']), c: pageOf(3, ['z']) };

describe('deliver', () => {
  test('emits the number of each page when its write is done, one write at a time', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('(abc|)', pages).pipe(deliver(() => timer(5)))).toBe('-----1----2----(3|)', { 1: 1, 2: 2, 3: 3 });
    });
  });

  test('releases a page after its write and not before', async () => {
    const { pages$, released } = leasedPages([['a']]);
    const gate = new Subject<void>();
    const done = lastValueFrom(pages$.pipe(deliver(() => firstValueFrom(gate))));
    await turns();
    expect(released).toEqual([]);
    gate.next();
    expect(await done).toBe(1);
    expect(released).toEqual([1]);
  });

  test('keeps an error of the stream behind the pages that came before it', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('(ab#)', pages).pipe(deliver(() => timer(5)))).toBe('-----1----(2#)', { 1: 1, 2: 2 });
    });
  });

  test('unsubscribes the source when the writer fails, and leaves the page unreleased', () => {
    const released: number[] = [];
    const leased = { a: pageOf(1, ['x'], () => void released.push(1)), b: pageOf(2, ['y'], () => void released.push(2)) };
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('a-b-------|', leased);
      const write = ({ number }: Page<string>) => (number === 1 ? timer(1) : throwError(() => 'disk full'));
      expectObservable(source.pipe(deliver(write))).toBe('-1#', { 1: 1 }, 'disk full');
      expectSubscriptions(source.subscriptions).toBe('^-!');
    });
    expect(released).toEqual([1]);
  });
});
