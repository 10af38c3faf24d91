import { describe, expect, test } from '@jest/globals';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import { derive } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, planned, rowsThrough, runtime, sample } from './support.js';

describe('derive in code', () => {
  test('adds a field to every row', async () => {
    const step = derive({ prefix: (row: Row) => String(row.zip).slice(0, 3) });
    expect(await rowsThrough(step, [{ zip: '10001' }, { zip: '90210' }])).toEqual([
      { zip: '10001', prefix: '100' },
      { zip: '90210', prefix: '902' },
    ]);
  });

  test('shows every function the row as it came in', async () => {
    const step = derive({ a: (row: Row) => `${String(row.a)}1`, b: (row: Row) => `${String(row.a)}2` });
    expect(await rowsThrough(step, [{ a: 'x' }])).toEqual([{ a: 'x1', b: 'x2' }]);
  });
});

describe('derive in a file', () => {
  const failing = { half: "num(age) / 2.0 > 1.0 ? 'old' : 'young'" };
  const rows = [
    sample('leads', { lead_id: '1', age: '41' }),
    sample('leads', { lead_id: '2', age: 'forty' }),
    sample('leads', { lead_id: '3' }),
  ];

  function ids(out: readonly Row[]): unknown[] {
    return out.map(({ lead_id }) => lead_id);
  }

  test('keeps the place and the original name of a column that it replaces', () => {
    const before = columnsOf(collections.leads);
    const { columns } = planned(steps.derive, { psid: 'upper(psid)' });
    expect(columns.map(({ name, original }) => [name, original])).toEqual(before.map(({ name, original }) => [name, original]));
    expect(columns.find(({ name }) => name === 'psid')).toMatchObject({ type: 'text', cast: true });
  });

  test('is as sensitive as the fields that it uses', () => {
    const { columns } = planned(steps.derive, { city: 'zip_city(zipcode)', word: "lead_status + '!'" });
    expect(columns.slice(-2).map(({ sensitivity }) => sensitivity)).toEqual(['personal', 'plain']);
    const input = columnsOf(collections.bridges, ['crm_key']);
    expect(planned(steps.derive, { key: 'name + crm_key' }, input).columns.at(-1)).toMatchObject({ sensitivity: 'secret' });
  });

  test('sends a failing row to the rejects, with field and reason and without the value', async () => {
    const context = runtime();
    expect(ids(await rowsThrough(opened(steps.derive, failing, context), rows))).toEqual(['1', '3']);
    expect(context.rejects).toEqual([{ row: rows[1], fault: { field: 'half', reason: 'num() cannot read the text', page: 1, index: 1 } }]);
    expect(context.tally).toMatchObject({ rejected: 1, nulled: 0 });
  });

  test('gives null instead under on_error: null, and counts it', async () => {
    const context = runtime({ onError: 'null' });
    const out = await rowsThrough(opened(steps.derive, failing, context), rows);
    expect(out.map(({ half }) => half)).toEqual(['old', null, 'old']);
    expect(context.tally).toMatchObject({ rejected: 0, nulled: 1 });
  });
});
