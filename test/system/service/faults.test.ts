import { generate, startService, type RunningService } from '../../../src/service/index.js';
import { account, alone, rowsAt, small, served } from './support.js';

/** Statuses of pages 1 to `count` of leads. */
async function statuses(service: RunningService, count: number): Promise<readonly number[]> {
  const seen = [];
  for (let page = 1; page <= count; page += 1) seen.push((await ask(service, `page=${page}`)).status);
  return seen;
}

const ask = ({ url }: RunningService, query: string) => fetch(`${url}/api/leads?${query}&${alone}`);

describe('faults', () => {
  test('answer with a status, with or without a Retry-After', async () => {
    const service = await served({ faults: ['503@page=1', '429=3@page=2'] });
    const [plain, patient] = [await ask(service, 'page=1'), await ask(service, 'page=2')];
    expect([plain.status, plain.headers.get('retry-after')]).toEqual([503, null]);
    expect(await plain.json()).toEqual({ error: expect.any(String) });
    expect([patient.status, patient.headers.get('retry-after')]).toEqual([429, '3']);
  });

  test('cut a body in the middle', async () => {
    const service = await served({ faults: ['cut'] });
    const answer = await ask(service, 'page=1');
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  test('answer without rows', async () => {
    const service = await served({ faults: ['empty@page=2'] });
    expect(await rowsAt(service, 'leads?page=1')).toHaveLength(30);
    expect(await rowsAt(service, 'leads?page=2')).toEqual([]);
  });

  test.each([
    ['500@page=3', [200, 200, 500, 200, 200]],
    ['500@page=2-3', [200, 500, 500, 200, 200]],
    ['500@page=4-', [200, 200, 200, 500, 500]],
    ['500@collection=users', [200, 200, 200, 200, 200]],
    ['500', [500, 500, 500, 500, 500]],
  ])('%s gives pages 1 to 5 the statuses %j', async (fault, expected) => {
    const service = await served({ faults: [fault] });
    expect(await statuses(service, 5)).toEqual(expected);
  });

  test('of a page leave single records alone', async () => {
    const service = await served({ faults: ['500@page=1'] });
    expect(await rowsAt(service, 'leads/none')).toEqual([]);
  });

  test('take turns: the second one begins where the first one ends, counted by request', async () => {
    const service = await served({ faults: ['503@times=1,page=1', '429@times=1'] });
    const seen = [];
    for (const query of ['page=1', 'page=1', 'page=1', 'page=2', 'page=1&limit=5']) seen.push((await ask(service, query)).status);
    expect(seen).toEqual([503, 429, 200, 429, 503]);
  });

  test.each(['503=soon', 'delay', '500@pages=3', '500@page=x', '__proto__'])('are refused when wrong: %s', async (fault) => {
    const starting = startService({ source: generate(small()), accounts: [account], faults: [fault] });
    await expect(starting).rejects.toMatchObject({
      code: 'E_USAGE',
      message: expect.stringContaining(`fault ${fault}: a fault is a status`),
    });
  });
});
