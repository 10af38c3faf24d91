import { describe, expect, test } from '@jest/globals';
import { generate, startService, type RunningService, type DriftEvent, type DriftOptions } from '../../../src/service/index.js';
import { account, allRows, requestsOf, rowsAt, small, withService } from './support.js';

const source = generate(small({ leads: 300 }));

/** Keys of the leads in one request. */
const keysAt = async (service: RunningService, query = 'limit=500'): Promise<readonly string[]> =>
  (await rowsAt(service, `leads?${query}`)).map((row) => String(row['lead_id']));

/** What happens during so many reads. */
async function historyOf(drift: DriftOptions, seed: number, reads = 40): Promise<readonly DriftEvent[]> {
  let history: readonly DriftEvent[] = [];
  await withService({ source, drift, seed }, async (service) => {
    for (let read = 1; read <= reads; read += 1) await rowsAt(service, 'leads?limit=1');
    history = service.drift.history;
  });
  return history;
}

describe('drift', () => {
  test('tells the truth: its history leads from each read of the list to the next', async () => {
    await withService({ source: generate(small({ leads: 40 })), drift: { every: 1 } }, async (service) => {
      const model = [...(await keysAt(service))];
      for (let sequence = 2; sequence <= 120; sequence += 1) {
        const served = await keysAt(service);
        for (const event of service.drift.history.filter((each) => each.sequence === sequence)) {
          if (event.change === 'delete') expect(model.splice(event.position, 1)).toEqual([event.key]);
          else model.splice(event.position, 0, event.key);
        }
        expect(served).toEqual(model);
        expect(served).toEqual(service.drift.keys('leads'));
      }
      expect(new Set(service.drift.history.map(({ change }) => change))).toEqual(new Set(['insert-head', 'insert-tail', 'delete']));
    });
  });

  test('names the survivors: rows that every read between two requests had', async () => {
    await withService({ source, drift: { chance: 0.7 }, seed: 5 }, async (service) => {
      const reads: (readonly string[])[] = [];
      for (let read = 1; read <= 60; read += 1) reads.push(await keysAt(service));
      for (const [from, to] of [
        [1, 60],
        [1, 1],
        [20, 40],
        [59, 60],
      ] as const) {
        const between = reads.slice(from - 1, to);
        const always = between[0]?.filter((key) => between.every((read) => read.includes(key)));
        expect([...service.drift.survivors('leads', from, to)].sort()).toEqual([...(always ?? [])].sort());
      }
      expect(service.drift.survivors('leads')).toHaveLength(service.drift.survivors('leads', 1, 60).length);
    });
  });

  test('makes a crawl lose rows that existed throughout', async () => {
    await withService({ source, drift: { every: 2, changes: ['delete'] } }, async (service) => {
      const crawled = new Set<string>();
      for (let page = 1; page <= 30; page += 1) for (const key of await keysAt(service, `limit=10&page=${page}`)) crawled.add(key);
      expect(service.drift.survivors('leads').filter((key) => !crawled.has(key)).length).toBeGreaterThan(0);
    });
  });

  test('counts the reads of each list by itself, and not those of single records', async () => {
    const { entries, onRequest } = requestsOf();
    await withService({ source, drift: { every: 3 }, onRequest }, async (service) => {
      for (let read = 1; read <= 9; read += 1) {
        await rowsAt(service, 'leads?limit=1');
        await rowsAt(service, 'users');
        await rowsAt(service, 'leads/none');
      }
      const numbers = entries.filter(({ collection, id }) => collection === 'leads' && id === null).map(({ sequence }) => sequence);
      expect(service.drift.history.map(({ sequence }) => sequence)).toEqual([numbers[3], numbers[6]]);
    });
  });

  test('is the same with the same seed and another with another', async () => {
    const history = await historyOf({ chance: 0.3 }, 7);
    expect(history.length).toBeGreaterThan(4);
    expect(history.length).toBeLessThan(20);
    expect(await historyOf({ chance: 0.3 }, 7)).toEqual(history);
    expect(await historyOf({ chance: 0.3 }, 8)).not.toEqual(history);
  });

  test.each([
    ['insert-head', 0],
    ['insert-tail', 300],
  ] as const)('with %s puts new rows there, complete and under new keys', async (change, position) => {
    await withService({ source, drift: { every: 1, changes: [change], most: 1 } }, async (service) => {
      await rowsAt(service, 'leads');
      const rows = await rowsAt(service, 'leads?limit=500');
      const [event] = service.drift.history;
      expect(rows).toHaveLength(301);
      expect(rows[position]?.['lead_id']).toBe(event?.key);
      expect(Object.keys(rows[position] ?? {})).toEqual(Object.keys(rows[1] ?? {}));
      expect(event).toEqual({ sequence: 2, collection: 'leads', change, key: '9000000000', position });
      expect(await rowsAt(service, `leads/${event?.key}`)).toEqual([rows[position]]);
    });
  });

  test('with delete takes rows away, from single reads too', async () => {
    await withService({ source, drift: { every: 1, changes: ['delete'] } }, async (service) => {
      await rowsAt(service, 'leads');
      expect(await rowsAt(service, 'leads?limit=500')).toHaveLength(299);
      const [event] = service.drift.history;
      expect(await rowsAt(service, `leads/${event?.key}`)).toEqual([]);
      for (const key of await keysAt(service, 'limit=3')) expect(await rowsAt(service, `leads/${key}`)).toHaveLength(1);
    });
  });

  test('empties a list and goes on', async () => {
    await withService({ source: generate(small({ leads: 2 })), drift: { every: 1, changes: ['delete'] } }, async (service) => {
      const sizes = [];
      for (let read = 1; read <= 5; read += 1) sizes.push((await rowsAt(service, 'leads')).length);
      expect(sizes).toEqual([2, 1, 0, 0, 0]);
    });
  });

  test('reaches the collections that are named, also one with a key of several columns', async () => {
    await withService({ source, drift: 'every=1,changes=insert-head,collections=areacodes+links' }, async (service) => {
      for (let read = 1; read <= 2; read += 1) for (const path of ['areacodes', 'links', 'leads']) await rowsAt(service, path);
      expect(service.drift.history.map(({ collection }) => collection)).toEqual(['areacodes', 'links']);
      const [first] = await rowsAt(service, 'areacodes?limit=1');
      expect(service.drift.keys('areacodes')[0]).toBe([first?.['area_code'], first?.['city'], first?.['state']].join('|'));
    });
  });

  test('leaves a service without it as it is', async () => {
    await withService({ source }, async (service) => {
      const keys = (await allRows(service, 'leads')).map((row) => row['lead_id']);
      expect(service.drift.history).toEqual([]);
      expect(service.drift.keys('leads')).toEqual(keys);
      expect(service.drift.survivors('leads')).toEqual(keys);
    });
  });

  test.each([
    ['evry=3', /no 'evry', did you mean 'every'/],
    ['speed=3', /no 'speed', only every, chance, changes, collections, most/],
    ['every=3,every=4', /'every' is given twice/],
    ['every=0', /every needs a whole number, at least 1/],
    ['changes=insert', /changes needs one or more of insert-head\+insert-tail\+delete/],
  ])('is refused when wrong: %s', async (drift, message) => {
    const starting = startService({ source, accounts: [account], drift });
    await expect(starting).rejects.toMatchObject({ code: 'E_USAGE', message: expect.stringMatching(message) });
  });
});
