import { steps } from '../../../src/steps/registry.js';
import { castTo, opened, rowsThrough, runtime, sample } from './support.js';

describe('filter in a file', () => {
  const condition = 'num(age) > 40.0';
  const rows = [
    sample('leads', { lead_id: '1', age: '41' }),
    sample('leads', { lead_id: '2', age: '40' }),
    sample('leads', { lead_id: '3', age: 'forty' }),
    sample('leads', { lead_id: '4', age: '42' }),
  ];

  test('drops a row whose condition is null, as filtered', async () => {
    const context = runtime({ input: castTo({ flag: 'flag' }) });
    const out = await rowsThrough(opened(steps.filter, 'flag', context), [{ flag: null }, { flag: true }, { flag: false }, {}]);
    expect(out).toEqual([{ flag: true }]);
    expect(context.tally).toMatchObject({ filtered: 3, rejected: 0 });
  });

  test('drops, rejects or fails by the same rows', async () => {
    const asked = (otherwise: string) => ({ where: 'num(age) >\n  40.0', otherwise });
    const readable = rows.toSpliced(2, 1);
    const contexts = { drop: runtime(), reject: runtime() };
    const kept = [
      await rowsThrough(opened(steps.filter, condition, runtime()), readable),
      await rowsThrough(opened(steps.filter, asked('drop'), contexts.drop), readable),
      await rowsThrough(opened(steps.filter, asked('reject'), contexts.reject), readable),
    ];
    expect(kept.map((each) => each.map(({ lead_id }) => lead_id))).toEqual(Array(3).fill(['1', '4']));
    expect(contexts.drop.tally).toMatchObject({ filtered: 1, rejected: 0 });
    expect(contexts.reject.tally).toMatchObject({ filtered: 0, rejected: 1 });
    const reason = 'does not satisfy num(age) > 40.0';
    expect(contexts.reject.rejects).toEqual([{ row: rows[1], fault: { field: 'age', reason, page: 1, index: 1 } }]);
    await expect(rowsThrough(opened(steps.filter, asked('fail'), runtime({ at: 'steps[0] filter' })), readable)).rejects.toMatchObject({
      code: 'E_STEP_CONDITION',
      message: `steps[0] filter: age ${reason} in row 2 of page 1`,
    });
  });

  test('rejects rows whose condition is null, or cannot be evaluated and is null by on_error, and names all fields of it', async () => {
    const asked = { where: 'num(age) > 40.0 && lead_id != email', otherwise: 'reject' };
    const context = runtime({ onError: 'null' });
    expect(await rowsThrough(opened(steps.filter, asked, context), [...rows, sample('leads', { age: null })])).toHaveLength(2);
    expect(context.tally).toMatchObject({ filtered: 0, rejected: 3, nulled: 1 });
    expect(context.rejects.map(({ fault }) => fault.field)).toEqual(Array(3).fill('lead_id + age + email'));
  });
});
