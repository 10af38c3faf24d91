import { lastValueFrom, pipe, toArray } from 'rxjs';
import { connect, derive, filter, mapRows, select, sort } from '../../../src/leadstream.js';
import { rowsOf, startService } from '../../../src/testing.js';
import { temporaryFolder } from '../../support/temporary.js';

interface Some {
  readonly [name: string]: string;
}

describe('rowsOf', () => {
  const rows: readonly Some[] = [{ a: '2' }, { a: '1' }, { a: '3' }];

  test('gives what leaves a step, and what leaves several, with one that takes all rows first', async () => {
    expect(await rowsOf(select<Some, string>(['a']), rows)).toEqual(rows);
    const folder = await temporaryFolder();
    const several = pipe(
      filter(({ a }: Some) => a !== '3'),
      sort<Some>([{ field: 'a' }], { folder }),
      derive({ twice: ({ a }: Some) => `${a}${a}` }),
    );
    expect(await rowsOf(several, rows)).toEqual([
      { a: '1', twice: '11' },
      { a: '2', twice: '22' },
    ]);
    expect(await rowsOf(several, [])).toEqual([]);
  });

  test('throws what a step throws, and leaves the rows as they are', async () => {
    await expect(rowsOf(select<Some, string>(['b']), rows)).rejects.toMatchObject({ code: 'E_STEP_FIELD' });
    const changing = mapRows((row: Some) => Object.assign(row, { a: '' }));
    await expect(rowsOf(changing, rows)).rejects.toMatchObject({ code: 'E_STEP_FUNCTION' });
    expect(rows[0]).toEqual({ a: '2' });
  });
});

describe('startService of leadstream/testing', () => {
  test('serves rows as the service has them, and nothing else, with the faults given', async () => {
    const leads = [{ lead_id: 7, age: 41, is_valid: true, PSID: 'x', gender: null, meta: { a: [1] } }];
    const { url, auth, close } = await startService({ leads }, ['503@times=1']);
    const service = connect({ baseUrl: url, auth, endWaitMs: 1, retry: { attempts: 2, baseMs: 1, capMs: 1 } });
    try {
      const served = { lead_id: '7', age: '41', is_valid: 'true', psid: 'x', gender: null, meta: '{"a":[1]}' };
      expect(await lastValueFrom(service.leads.rows$.pipe(toArray()))).toEqual([expect.objectContaining(served)]);
      expect(await lastValueFrom(service.users.rows$.pipe(toArray()))).toEqual([]);
    } finally {
      await service.close();
      await close();
    }
  });

  test('refuses rows without the key of their collection, and what is no fault', async () => {
    await expect(startService({ leads: [{ email: 'a@b.c' }] })).rejects.toMatchObject({ code: 'E_DATA' });
    await expect(startService({}, ['503@pages=1'])).rejects.toMatchObject({ code: 'E_USAGE' });
  });
});
