import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { expectShape, gatesIn, type Expect } from '../../../src/pipeline/gates/expect.js';
import { openExpectations } from '../../../src/pipeline/gates/expectations.js';
import { pageOf } from '../../support/pages.js';

/** Every gate as a file sets it, such that it refuses a row without `a`, and what it says of such a row alone. */
const cases: { readonly [G in keyof Expect]-?: { readonly given: unknown; readonly alone: readonly string[] } } = {
  min_rows: { given: 2, alone: [] },
  max_shrink: { given: '10%', alone: [] },
  max_growth: { given: '10%', alone: [] },
  max_read_shrink: { given: { leads: '10%' }, alone: [] },
  max_null: { given: { a: '0%', b: '50%', c: '0', d: '1' }, alone: ['expect.max_null.a', 'expect.max_null.c'] },
  not_null: { given: ['a'], alone: ['expect.not_null.a'] },
  unique: { given: ['b'], alone: [] },
  accepted_values: { given: { b: ['y'] }, alone: ['expect.accepted_values.b'] },
};

const row: Row = { a: null, b: 'x', c: '', d: null };

function openedBy(given: Readonly<Record<string, unknown>>, rows: readonly Row[]) {
  const expectations = openExpectations(expectShape().parse(given), []);
  expectations.observe(pageOf(1, rows));
  return expectations;
}

const refusedBy = (results: ReturnType<ReturnType<typeof openedBy>['resultsAlone']>) =>
  results.filter(({ outcome }) => outcome === 'refused').map(({ gate }) => gate);

describe('a gate', () => {
  test.each(Object.entries(cases))('%s says of a row alone only what holds whatever other rows there are', (name, { given, alone }) => {
    expect(refusedBy(openedBy({ [name]: given }, [row]).resultsAlone())).toEqual(alone);
    const among = Array.from({ length: 1_000 }, (_, id): Row => (id === 500 ? row : { a: '1', b: 'y', c: '1', d: '1' }));
    expect(refusedBy(openedBy({ [name]: given }, among).results([]))).toEqual(expect.arrayContaining([...alone]));
  });

  test('refuses of one record the rows that are made of it and have a key twice', () => {
    expect(refusedBy(openedBy({ unique: ['b'] }, [row, row]).resultsAlone())).toEqual(['expect.unique.b']);
  });

  test('is one of those that are set, each by its key', () => {
    const given = Object.fromEntries(Object.entries(cases).map(([name, { given: value }]) => [name, value]));
    expect(gatesIn(expectShape().parse(given)).map(({ name }) => name)).toEqual(Object.keys(cases));
    expect(gatesIn({})).toEqual([]);
  });
});
