import { describe, expect, test } from '@jest/globals';
import { NEVER, Observable, lastValueFrom, of, throwError } from 'rxjs';
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

  test('asks for nothing after that', async () => {
    let asked = 0;
    const subscription = task(async (ask) => {
      await Promise.resolve();
      await ask(new Observable(() => void (asked += 1)));
    }).subscribe();
    subscription.unsubscribe();
    await turns();
    expect(asked).toBe(0);
  });

  test('begins again for each subscription', () => {
    let begun = 0;
    const task$ = task((ask) => {
      begun += 1;
      return ask(NEVER);
    });
    task$.subscribe().unsubscribe();
    task$.subscribe().unsubscribe();
    expect(begun).toBe(2);
  });
});
