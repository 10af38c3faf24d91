import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { cast } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, rowsThrough, sample, watched } from './support.js';

test('turns text into typed values', async () => {
  const step = cast({ age: 'integer', share: 'decimal', ok: 'flag', at: 'timestamp', day: 'date', name: 'text' });
  expect(await rowsThrough<Row, Row>(step, [{ age: '41', share: '.5', ok: 'No', at: '0', day: '20240229', name: '007' }])).toEqual([
    { age: 41n, share: 0.5, ok: false, at: new Date(0), day: new Date('2024-02-29T00:00:00Z'), name: '007' },
  ]);
});

describe('a value that does not cast', () => {
  const rows: Row[] = [
    { id: '1', age: '41' },
    { id: '2', age: 'personal data' },
    { id: '3', age: '42' },
  ];

  test('sends the row to the rejects, with field and reason and without the value', async () => {
    const context = watched();
    const out = await rowsThrough(cast<Row>({ age: 'integer' }, {}, context), rows);
    expect(out.map(({ id }) => id)).toEqual(['1', '3']);
    expect(context.rejects).toEqual([{ row: rows[1], fault: { field: 'age', reason: 'is not a 64-bit integer', page: 1, index: 1 } }]);
    expect(context.tally).toMatchObject({ rejected: 1, nulled: 0 });
  });

  test('becomes null under onError: null, and is counted', async () => {
    const context = watched();
    const out = await rowsThrough(cast<Row>({ age: 'integer' }, { onError: 'null' }, context), rows);
    expect(out.map(({ age }) => age)).toEqual([41n, null, 42n]);
    expect(context.tally).toMatchObject({ rejected: 0, nulled: 1 });
  });
});

test('cast in a file casts every field by its declared type unless types are named', async () => {
  const [row] = await rowsThrough(opened(steps.cast, {}), [sample('leads', { age: '41', is_valid: 'n' })]);
  expect(row).toMatchObject({ age: 41n, is_valid: false, timestamp: new Date('2024-02-29T00:00:00Z'), zipcode: 'text' });
});
