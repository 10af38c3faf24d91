import { concat, map, NEVER, of, throwError, timer } from 'rxjs';
import { inOrder } from '../../../src/flow/index.js';
import { marbles } from '../../support/pages.js';

const failed$ = throwError(() => 'broken');
/** A value that is ready after as many milliseconds as it says, or never. */
const ready = (ms: string) => (ms === '2' ? failed$ : timer(Number(ms)).pipe(map(() => ms)));

test.each([
  ['before the end', of('3', '1'), '---3(1|)'],
  ['before an error', concat(of('3', '1'), failed$), '---3(1#)'],
  ['before nothing more', concat(of('3', '1'), NEVER), '---31'],
  ['until one of them fails', of('3', '2', '1'), '---(3#)'],
])('values come in their order, however long each has to wait, %s', (_what, source$, expected) => {
  marbles(({ expectObservable }) => {
    expectObservable(source$.pipe(inOrder(ready))).toBe(expected, undefined, 'broken');
  });
});
