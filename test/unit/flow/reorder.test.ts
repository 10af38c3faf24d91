import { describe, test } from '@jest/globals';
import { take } from 'rxjs';
import { reorder } from '../../../src/flow/reorder.js';
import { marbles } from '../../support/pages.js';

const values = { a: { number: 1 }, b: { number: 2 }, c: { number: 3 }, d: { number: 4 } };

describe('reorder', () => {
  test('holds what comes early until its turn', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--b-d---a-----(c|)', values).pipe(reorder(1))).toBe('--------(ab)--(cd|)', values);
    });
  });

  test('passes an error at once, with what waited lost', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('a-c-#', values).pipe(reorder(1))).toBe('a---#', values);
    });
  });

  test('stops in the middle of what it held when the subscriber has enough', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('b-c-a-d-|', values);
      expectObservable(source.pipe(reorder(1), take(2))).toBe('----(ab|)', values);
      expectSubscriptions(source.subscriptions).toBe('^---!');
    });
  });
});
