import { concat, map, NEVER, of, throwError, timer } from 'rxjs';
import { inOrder } from '../../../src/flow/index.js';
import { marbles } from '../../support/pages.js';

/** A value that is ready after as many milliseconds as it says. */
const ready = (ms: string) => timer(Number(ms)).pipe(map(() => ms));

test.each([
  ['the end', of('3', '1'), '---3(1|)'],
  [
    'an error',
    concat(
      of('3', '1'),
      throwError(() => 'broken'),
    ),
    '---3(1#)',
  ],
  ['nothing more', concat(of('3', '1'), NEVER), '---31'],
])('values come in their order, however long each has to wait, and before %s', (_what, source$, expected) => {
  marbles(({ expectObservable }) => {
    expectObservable(source$.pipe(inOrder(ready))).toBe(expected, undefined, 'broken');
  });
});

test('the failure of a value is that of the stream, before what comes behind it', () => {
  marbles(({ expectObservable }) => {
    const wait = (ms: string) => (ms === '2' ? throwError(() => 'broken') : ready(ms));
    expectObservable(of('3', '2', '1').pipe(inOrder(wait))).toBe('---(3#)', undefined, 'broken');
  });
});
