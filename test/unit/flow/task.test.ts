import { describe, expect, test } from '@jest/globals';
import { Observable, lastValueFrom, of, throwError } from 'rxjs';
import { task } from '../../../src/flow/index.js';
import { turns } from '../../support/pages.js';

describe('task', () => {
  test('gives the result of the function, which waits for streams', async () => {
    const sum$ = task(async (ask) => (await ask(of(1, 2))) + (await ask(of(3))));
    expect(await lastValueFrom(sum$)).toBe(5);
  });

  test('fails with what a stream fails with', async () => {
    await expect(lastValueFrom(task((ask) => ask(throwError(() => new Error('no page')))))).rejects.toThrow('no page');
  });

  test('unsubscribes what it waits for when nobody wants it any more, and goes no further', async () => {
    const steps: string[] = [];
    const endless$ = new Observable<number>(() => () => void steps.push('unsubscribed'));
    const subscription = task(async (ask) => {
      await ask(endless$);
      steps.push('went on');
    }).subscribe();
    subscription.unsubscribe();
    await turns();
    expect(steps).toEqual(['unsubscribed']);
  });
});
