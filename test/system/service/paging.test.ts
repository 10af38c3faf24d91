import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generate, startService, type RunningService } from '../../../src/service/index.js';
import { account, rowsAt, small, withService } from './support.js';

let service: RunningService;
beforeAll(async () => {
  service = await startService({ source: generate(small()), accounts: [account] });
});
afterAll(() => service.close());

describe('paging', () => {
  test('gives rows 501 to 1000 as page 2 of 500, the same ones every time', async () => {
    const page = await rowsAt(service, 'leads?page=2&limit=500');
    const singly = [];
    for (let number = 11; number <= 20; number += 1) singly.push(...(await rowsAt(service, `leads?page=${number}&limit=50`)));
    expect(page).toHaveLength(500);
    expect(singly).toEqual(page);
    expect(await rowsAt(service, 'leads?page=2&limit=500')).toEqual(page);
  });

  test('gives the same page from another service with the same seed', async () => {
    const page = await rowsAt(service, 'leads?page=2&limit=500');
    await withService({}, async (twin) => expect(await rowsAt(twin, 'leads?page=2&limit=500')).toEqual(page));
  });

  test('starts at page 1 with 30 rows when nothing is asked', async () => {
    expect(await rowsAt(service, 'leads')).toEqual(await rowsAt(service, 'leads?page=1&limit=30'));
    expect(await rowsAt(service, 'leads')).toHaveLength(30);
  });

  test('caps the limit at 500, for the place of later pages too', async () => {
    expect(await rowsAt(service, 'leads?limit=501')).toHaveLength(500);
    expect(await rowsAt(service, 'leads?page=2&limit=9999')).toEqual(await rowsAt(service, 'leads?page=2&limit=500'));
  });

  test('ends with a short page, and is empty past the end however far', async () => {
    expect(await rowsAt(service, 'leads?page=3&limit=500')).toHaveLength(200);
    expect(await rowsAt(service, 'leads?page=4&limit=500')).toEqual([]);
    expect(await rowsAt(service, 'leads?page=99999999999999999999&limit=500')).toEqual([]);
  });

  test.each(['links?page=2&limit=10', 'links?page=x&limit=0'])('is ignored by /api/%s, which returns all', async (path) => {
    expect(await rowsAt(service, path)).toHaveLength(60);
  });
});
