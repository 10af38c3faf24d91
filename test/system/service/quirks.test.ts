import { describe, expect, test } from '@jest/globals';
import yargs from 'yargs';
import { addServe } from '../../../src/cli/commands/serve.js';
import { faultKinds } from '../../../src/service/faults/kinds.js';
import { generate, startService } from '../../../src/service/index.js';
import { quirkNames, type Quirks } from '../../../src/service/quirks/index.js';
import { account, allRows, ask, rowsAt, small, withService } from './support.js';

/** The first identifiers of a list, which tell pages apart. */
const idsAt = async (...[service, path]: Parameters<typeof rowsAt>): Promise<readonly string[]> =>
  (await rowsAt(service, path)).map((row) => String(row['lead_id'] ?? row['id']));

/** Every row of leads as the service writes it, values of any type included. */
async function rawLeads(quirks: Quirks, seed = 1): Promise<readonly Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  await withService({ quirks, seed }, async (service) => {
    for (const page of [1, 2, 3]) rows.push(...((await (await ask(service, `leads?page=${page}&limit=100`)).json()) as typeof rows));
  });
  return rows;
}

describe('quirks of paging', () => {
  test('first-page counts from another number, and starts there when no page is asked', async () => {
    await withService({}, async (plain) => {
      await withService({ quirks: { 'first-page': 0 } }, async (odd) => {
        expect(await idsAt(odd, 'leads?page=0&limit=5')).toEqual(await idsAt(plain, 'leads?page=1&limit=5'));
        expect(await idsAt(odd, 'leads?page=1&limit=5')).toEqual(await idsAt(plain, 'leads?page=2&limit=5'));
        expect(await idsAt(odd, 'leads')).toEqual(await idsAt(plain, 'leads'));
      });
    });
  });

  test('default-limit is what a request without limit gets', async () => {
    await withService({ quirks: { 'default-limit': 7 } }, async (odd) => {
      expect(await rowsAt(odd, 'leads')).toHaveLength(7);
      expect(await rowsAt(odd, 'leads?limit=9')).toHaveLength(9);
    });
  });

  test('cap makes pages smaller than asked without a word, for the place of later pages too', async () => {
    await withService({ quirks: { cap: 100 } }, async (odd) => {
      expect(await rowsAt(odd, 'leads?limit=500')).toHaveLength(100);
      expect(await idsAt(odd, 'leads?page=2&limit=500')).toEqual(await idsAt(odd, 'leads?page=2&limit=100'));
    });
  });

  test('refuse-over-cap answers a larger limit with 400', async () => {
    await withService({ quirks: { cap: 100, 'refuse-over-cap': true } }, async (odd) => {
      expect((await ask(odd, 'leads?limit=101')).status).toBe(400);
      expect(await rowsAt(odd, 'leads?limit=100')).toHaveLength(100);
    });
  });

  test('repeat-last gives the last page for every page past the end', async () => {
    await withService({ quirks: { 'repeat-last': true } }, async (odd) => {
      const last = await idsAt(odd, 'leads?page=3&limit=500');
      expect(last).toHaveLength(200);
      for (const page of [4, 5, 99]) expect(await idsAt(odd, `leads?page=${page}&limit=500`)).toEqual(last);
    });
  });

  test('ignore-page gives the first page whatever is asked', async () => {
    await withService({ quirks: { 'ignore-page': true } }, async (odd) => {
      for (const page of [2, 99]) expect(await idsAt(odd, `leads?page=${page}&limit=5`)).toEqual(await idsAt(odd, 'leads?limit=5'));
    });
  });

  test('empty-page is [] in the middle of a list, every time', async () => {
    await withService({ quirks: { 'empty-page': 3 } }, async (odd) => {
      const sizes = [];
      for (const page of [2, 3, 3, 4]) sizes.push((await rowsAt(odd, `leads?page=${page}&limit=10`)).length);
      expect(sizes).toEqual([10, 0, 0, 10]);
      expect(await rowsAt(odd, 'links?page=3')).toHaveLength(60);
    });
  });

  test('empty-page with :once is [] the first time only', async () => {
    await withService({ quirks: { 'empty-page': '3:once' } }, async (odd) => {
      expect(await rowsAt(odd, 'leads?page=3&limit=10')).toEqual([]);
      expect(await rowsAt(odd, 'leads?page=3&limit=10')).toHaveLength(10);
    });
  });

  test('paged-links pages the list of links', async () => {
    await withService({ quirks: { 'paged-links': true } }, async (odd) => {
      expect(await rowsAt(odd, 'links')).toHaveLength(30);
      expect(await rowsAt(odd, 'links?page=2&limit=50')).toHaveLength(10);
    });
  });
});

describe('quirks of single records', () => {
  test('bare-record leaves the array out around one record and not around several', async () => {
    await withService({ quirks: { 'bare-record': true } }, async (odd) => {
      const [first] = await rowsAt(odd, 'leads?limit=1');
      expect(await (await ask(odd, `leads/${first?.['lead_id']}`)).json()).toEqual(first);
      expect((await rowsAt(odd, 'areacodes/212')).length).toBeGreaterThan(1);
      expect(await rowsAt(odd, 'leads/none')).toEqual([]);
    });
  });

  test.each([
    ['404', 404, expect.stringContaining('error')],
    ['object', 200, '{}'],
    ['null', 200, 'null'],
    ['nothing', 200, ''],
  ] as const)('not-found=%s answers %d to an identifier that matches nothing', async (form, status, body) => {
    await withService({ quirks: { 'not-found': form, 'bare-record': true } }, async (odd) => {
      const answer = await ask(odd, 'leads/none');
      expect([answer.status, await answer.text()]).toEqual([status, body]);
      expect(await rowsAt(odd, 'leads?page=999')).toEqual([]);
    });
  });

  test.each([
    ['singular', 'areacode', 'areacodes'],
    ['plural', 'areacodes', 'areacode'],
  ] as const)('areacode-path=%s serves /api/%s and answers 404 to /api/%s', async (form, served, gone) => {
    await withService({ quirks: { 'areacode-path': form } }, async (odd) => {
      expect(await rowsAt(odd, served)).toHaveLength(30);
      for (const path of [gone, `${gone}/212`]) expect((await ask(odd, path)).status).toBe(404);
    });
  });
});

describe('quirks of rows', () => {
  test('missing-fields takes a field from the share of rows, never the key', async () => {
    const rows = await rawLeads({ 'missing-fields': 0.3 });
    const short = rows.filter((row) => Object.keys(row).length === 32);
    expect(short.length).toBeGreaterThan(50);
    expect(short.length).toBeLessThan(150);
    expect(rows.every((row) => typeof row['lead_id'] === 'string')).toBe(true);
    expect(rows.filter((row) => Object.keys(row).length === 33)).toHaveLength(300 - short.length);
  });

  test('unknown-fields adds a field that no document lists', async () => {
    expect((await rawLeads({ 'unknown-fields': 1 })).every((row) => row['shoe size'] === '42')).toBe(true);
  });

  test('non-strings has values of every other type, never in the key', async () => {
    const rows = await rawLeads({ 'non-strings': 1 });
    const odd = rows.flatMap((row) => Object.values(row)).filter((value) => typeof value !== 'string');
    expect(odd).toHaveLength(300);
    expect(new Set(odd.map((value) => JSON.stringify(value)))).toEqual(new Set(['42', 'true', 'null', '["a",1]', '{"a":"1"}']));
    expect(rows.every((row) => typeof row['lead_id'] === 'string')).toBe(true);
  });

  test('huge-values has a megabyte in a text field', async () => {
    const rows = await rawLeads({ 'huge-values': 0.02 });
    const sizes = rows.map((row) => String(row['meta']).length).filter((size) => size > 1000);
    expect(sizes.length).toBeGreaterThan(0);
    expect(new Set(sizes)).toEqual(new Set([1 << 20]));
  });

  test('proto-key sends a key __proto__, together with other oddities', async () => {
    await withService({ quirks: { 'proto-key': 1, 'unknown-fields': 1 } }, async (odd) => {
      const text = await (await ask(odd, 'leads?limit=2')).text();
      expect(text.match(/\{"__proto__":\{"polluted":"yes"\},"lead_id":"/g)).toHaveLength(2);
      expect(text.match(/"shoe size":"42"\}/g)).toHaveLength(2);
    });
  });

  test('meet the same rows with the same seed, on every page size, and others with another seed', async () => {
    const quirks: Quirks = { 'missing-fields': 0.3, 'non-strings': 0.3 };
    const rows = await rawLeads(quirks);
    expect(await rawLeads(quirks)).toEqual(rows);
    expect(await rawLeads(quirks, 2)).not.toEqual(rows);
    await withService({ quirks }, async (odd) => expect(await (await ask(odd, 'leads?limit=300')).json()).toEqual(rows));
  });
});

describe('unstable-order', () => {
  test('lets neighbours change places between requests, and nobody else', async () => {
    await withService({}, async (plain) => {
      const honest = await idsAt(plain, 'leads?limit=500');
      await withService({ quirks: { 'unstable-order': 50 } }, async (odd) => {
        const [one, two] = [await idsAt(odd, 'leads?limit=500'), await idsAt(odd, 'leads?limit=500')];
        expect(one).not.toEqual(two);
        for (let start = 0; start < 500; start += 50) {
          const group = honest.slice(start, start + 50).sort();
          expect([one.slice(start, start + 50).sort(), two.slice(start, start + 50).sort()]).toEqual([group, group]);
        }
      });
    });
  });

  test('loses and doubles rows across the borders of pages, the same ones with the same seed', async () => {
    const crawl = async (seed: number): Promise<readonly unknown[]> => {
      let ids: readonly unknown[] = [];
      await withService({ quirks: { 'unstable-order': 73 }, seed }, async (odd) => {
        ids = (await allRows(odd, 'leads')).map((row) => row['lead_id']);
      });
      return ids;
    };
    const ids = await crawl(1);
    expect(ids).toHaveLength(1200);
    expect(new Set(ids).size).toBeLessThan(1200);
    expect(await crawl(1)).toEqual(ids);
    expect(await crawl(2)).not.toEqual(ids);
  });

  test('finds single records where they are', async () => {
    await withService({ quirks: { 'unstable-order': 50 } }, async (odd) => {
      const [first] = await rowsAt(odd, 'leads?limit=1');
      expect(await rowsAt(odd, `leads/${first?.['lead_id']}`)).toEqual([first]);
    });
  });
});

describe('the names of quirks', () => {
  test('may be written as on the command line', async () => {
    await withService({ quirks: ['cap=5', 'bare-record'] }, async (odd) => {
      const [first] = await rowsAt(odd, 'leads?limit=9');
      expect(await rowsAt(odd, 'leads?limit=9')).toHaveLength(5);
      expect(await (await ask(odd, `leads/${first?.['lead_id']}`)).json()).toEqual(first);
    });
  });

  test.each([
    ['capp=3', /no 'capp', did you mean 'cap'/],
    ['nonsense', /no 'nonsense', only first-page, .*unstable-order/],
    ['cap', /cap needs a whole number, at least 1/],
    ['cap=0', /cap needs/],
    ['bare-record=yes', /bare-record takes no value/],
    ['missing-fields=1.5', /missing-fields needs a share from 0 to 1/],
    ['not-found=405', /not-found needs one of 404, object, null, nothing/],
    ['empty-page=3:twice', /empty-page needs a page, like 3, or 3:once/],
  ])('are refused when wrong: %s', async (quirk, message) => {
    const starting = startService({ source: generate(small()), accounts: [account], quirks: [quirk] });
    await expect(starting).rejects.toMatchObject({ code: 'E_USAGE', message: expect.stringMatching(message) });
  });

  test('stand in the help of leadstream serve, and those of faults', async () => {
    const help = await addServe(yargs(['serve']), async () => {}).getHelp();
    for (const name of [...Object.keys(quirkNames()), ...Object.keys(faultKinds)])
      expect(help).toContain(name === 'STATUS' ? '400 to 599' : name);
  });
});
