import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { cast } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, rowsThrough, runtime, sample, watched } from './support.js';

test('turns text into typed values', async () => {
  const step = cast({ age: 'integer', share: 'decimal', ok: 'flag', at: 'timestamp', day: 'date', name: 'text' });
  expect(await rowsThrough<Row, Row>(step, [{ age: '41', share: '.5', ok: 'No', at: '0', day: '20240229', name: '007' }])).toEqual([
    { age: 41n, share: 0.5, ok: false, at: new Date(0), day: new Date('2024-02-29T00:00:00Z'), name: '007' },
  ]);
});

test('leaves values that are no text, and other fields, as they are', async () => {
  const row: Row = { age: 41n, at: null, other: 'x' };
  expect(await rowsThrough(cast<Row>({ age: 'integer', at: 'timestamp' }), [row])).toEqual([row]);
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

  test('rejects a row once, for its first fault', async () => {
    const context = watched();
    await rowsThrough(cast<Row>({ a: 'integer', b: 'flag' }, {}, context), [{ a: 'x', b: 'x' }]);
    expect(context.rejects.map(({ fault }) => fault.field)).toEqual(['a']);
    expect(context.tally.rejected).toBe(1);
  });

  test('becomes null under onError: null, and is counted', async () => {
    const context = watched();
    const out = await rowsThrough(cast<Row>({ age: 'integer' }, { onError: 'null' }, context), rows);
    expect(out.map(({ age }) => age)).toEqual([41n, null, 42n]);
    expect(context.tally).toMatchObject({ rejected: 0, nulled: 1 });
  });

  test('fails the stream under onError: fail, naming step and field but no value', async () => {
    await expect(rowsThrough(cast<Row>({ age: 'integer' }, { onError: 'fail' }, watched('steps[2] cast')), rows)).rejects.toMatchObject({
      code: 'E_STEP_VALUE',
      message: 'steps[2] cast: field age is not a 64-bit integer in row 2 of page 1',
    });
  });

  test('fails the stream when nothing takes the rejects, instead of losing the row', async () => {
    await expect(rowsThrough(cast<Row>({ age: 'integer' }), rows)).rejects.toMatchObject({
      code: 'E_STEP_VALUE',
      message:
        "cast: field age is not a 64-bit integer in row 2 of page 1; such a row ends the stream unless onError is 'null' or the context takes rejects",
    });
  });
});

describe('cast in a file', () => {
  test('casts every field by its declared type unless types are named', async () => {
    const [row] = await rowsThrough(opened(steps.cast, {}), [sample('leads', { age: '41', is_valid: 'n' })]);
    expect(row).toMatchObject({ age: 41n, is_valid: false, timestamp: new Date('2024-02-29T00:00:00Z'), zipcode: 'text' });
  });

  test.each([
    ['reject', [0, 1, 0]],
    ['null', [1, 0, 1]],
  ] as const)('follows on_error: %s of the pipeline', async (onError, [rows, rejected, nulled]) => {
    const context = runtime({ onError });
    expect(await rowsThrough(opened(steps.cast, {}, context), [sample('leads', { age: 'x' })])).toHaveLength(rows);
    expect(context.tally).toMatchObject({ rejected, nulled });
  });
});
