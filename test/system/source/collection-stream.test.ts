import { getEventListeners } from 'node:events';
import { lastValueFrom, toArray } from 'rxjs';
import { cast, collections, connect, csv, filter, join, typesOf, writeTo, type ConnectOptions } from '../../../src/index.js';
import { generate } from '../../../src/service/index.js';
import { service, testKey, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const open = (from: LoggedService, options: Partial<ConnectOptions> = {}) =>
  connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, limit: 100, endWaitMs: 1, ...options });
const drifting = { drift: { every: 3, changes: ['delete'] } } as const;
const few = () => generate({ leads: 600, bridges: 20, seed: 7 });

describe('one read', () => {
  test('has the fields that are named, in that order, and nothing else', async () => {
    const { leads } = open(await service(few()));
    const some = leads.with({ fields: ['zipcode', 'lead_id'] });
    expect(some.columns?.map(({ name }) => name)).toEqual(['zipcode', 'lead_id']);
    const rows = await lastValueFrom(some.rows$.pipe(toArray()));
    expect(rows).toHaveLength(600);
    expect(rows.every((row) => Object.keys(row).join() === 'zipcode,lead_id')).toBe(true);
    const [one] = await some.find(rows[5]?.lead_id ?? '');
    expect(one).toEqual(rows[5]);
  });

  test('has the secrets that are named, and no other', async () => {
    const { bridges } = open(await service(few()));
    const [first] = await lastValueFrom(bridges.rows$.pipe(toArray()));
    const [plain] = await bridges.find(first?.id ?? '');
    const [revealed] = await bridges.with({ reveal: ['crm_key'] }).find(first?.id ?? '');
    expect(plain).toEqual(first);
    expect(plain).not.toHaveProperty('crm_key');
    expect(revealed).toMatchObject({ crm_key: expect.any(String) });
    expect(revealed).not.toHaveProperty('fb_app_secret');
    for await (const bridge of bridges.with({ reveal: ['crm_key'], fields: ['id', 'crm_key'] }))
      expect(Object.keys(bridge)).toEqual(['id', 'crm_key']);
  });

  test('ends with its signal, whose reason is its cause, and asks for nothing where that is aborted before', async () => {
    const from = await service(generate({ leads: 5_000, seed: 7 }));
    const { leads } = open(from, { window: 4 });
    const [stop, mine] = [new AbortController(), new Error('mine')];
    let rows = 0;
    const loop = async () => {
      for await (const _ of leads.with({ signal: stop.signal })) if ((rows += 1) === 150) stop.abort(mine);
    };
    const ended = { code: 'E_RUN_ABORTED', cause: mine };
    await expect(loop()).rejects.toMatchObject({ ...ended, message: 'leads: the read was stopped by its signal' });
    expect(rows).toBeGreaterThanOrEqual(150);
    const asked = from.requests.length;
    expect(asked).toBeLessThan(12);
    const aborted = leads.with({ signal: stop.signal });
    const later = [lastValueFrom(aborted.rows$), aborted.find('1'), leads.find('1', { signal: stop.signal })];
    await Promise.all(later.map((each) => expect(each).rejects.toMatchObject(ended)));
    expect(from.requests.length).toBe(asked);
    const path = `${await temporaryFolder()}/leads.csv`;
    await expect(writeTo(leads, csv({ path }), { signal: stop.signal })).rejects.toMatchObject(ended);
  });

  test('leaves no listener on a signal when the reads that take it have ended', async () => {
    const { users } = open(await service(few()));
    const { signal } = new AbortController();
    const reads = Array.from({ length: 15 }, () => users.find('1', { signal }));
    await Promise.all(reads);
    expect(getEventListeners(signal, 'abort')).toEqual([]);

    const stop = new AbortController();
    const stopped = Array.from({ length: 15 }, () => users.find('1', { signal: stop.signal }));
    stop.abort();
    for (const read of await Promise.allSettled(stopped)) expect(read).toMatchObject({ reason: { code: 'E_RUN_ABORTED' } });
  });

  test('gives typed rows after a cast by the declared types', async () => {
    const { leads } = open(await service(few()));
    const fresh = leads.pipe(
      cast(typesOf(collections.leads), { onError: 'null' }),
      filter((lead) => lead.timestamp !== null && lead.timestamp > new Date(0)),
    );
    let rows = 0;
    for await (const lead of fresh) rows += lead.timestamp instanceof Date && typeof lead.lead_id === 'string' ? 1 : 0;
    expect(rows).toBe(600);
  });
});

describe('the check of a read', () => {
  test.each([
    ['is made by a loop, and repairs nothing', {}, 'check', 'stable', 8 + 8],
    ['is left out where nobody wants it', { consistency: 'off' }, 'off', 'off', 0],
    ['is what the connection says', { consistency: 'prove' }, 'prove', 'proven', 0],
  ] as const)('%s', async (_what, options, mode, outcome, probes) => {
    const { leads } = open(await service(generate({ leads: 1_200, seed: 7 })), options);
    expect(leads.consistency).toBeUndefined();
    for await (const _ of leads) expect(leads.consistency).toBeUndefined();
    expect(leads.consistency).toMatchObject({ mode, outcome, probes });
  });

  test('is that of the read, where it says so, and known to that stream alone', async () => {
    const { leads } = open(await service(few()), { consistency: 'off' });
    const checked = leads.with({ consistency: 'check' });
    await lastValueFrom(checked.rows$);
    expect([checked.consistency?.outcome, leads.consistency]).toEqual(['stable', undefined]);
  });

  test('costs nothing when the loop is left', async () => {
    const from = await service(generate({ leads: 5_000, seed: 7 }));
    const { leads } = open(from, { window: 4 });
    let rows = 0;
    for await (const _ of leads) if ((rows += 1) === 10) break;
    expect(leads.consistency).toBeUndefined();
    expect(from.requests.length + from.probes.length).toBeLessThanOrEqual(8);
  });

  test('fails a list that drifted where it is strict, behind its rows', async () => {
    const { leads } = open(await service(generate({ leads: 1_200, seed: 7 }), drifting));
    let rows = 0;
    const loop = async () => {
      for await (const _ of leads.with({ strict: true })) rows += 1;
    };
    await expect(loop()).rejects.toMatchObject({ code: 'E_GATE_STRICT', message: expect.stringContaining('W_SOURCE_DRIFT') });
    expect(rows).toBeGreaterThan(1_000);
  });

  test('repairs what is written, and the sides of its joins', async () => {
    const seen: string[] = [];
    const from = await service(generate({ leads: 300, bridges: 20, seed: 7 }));
    const watch = {
      read: { asyncEnd: ({ collection, outcome }: { collection: string; outcome?: string }) => void seen.push(`${collection} ${outcome}`) },
    };
    const { leads, bridges } = open(from, { watch });
    const joined = leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
    const { consistency } = await writeTo(joined, csv({ path: `${await temporaryFolder()}/leads.csv` }));
    expect(consistency).toMatchObject({ mode: 'repair', outcome: 'stable' });
    expect(seen.toSorted()).toEqual(['bridges stable', 'leads stable']);
    expect(joined.consistency).toBe(consistency);
  });
});

test('a cached side is read once by many joins, and again when it failed', async () => {
  const from = await service(few());
  const { leads, bridges } = open(from);
  const side = bridges.with({ fields: ['id', 'title'] }).cached({ maxAgeMs: Infinity });
  expect(side.columns?.map(({ name }) => name)).toEqual(['id', 'title']);
  const read = async () => {
    const joined = leads.pipe(join(side, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], type: 'inner' }));
    return (await lastValueFrom(joined.rows$.pipe(toArray()))).length;
  };
  expect(await Promise.all([read(), read(), read()])).toEqual([600, 600, 600]);
  expect(await read()).toBe(600);
  expect(from.requests.filter((request) => request.startsWith('bridges?page=1&'))).toHaveLength(1);
  expect(side.consistency).toMatchObject({ mode: 'repair', outcome: 'stable' });
});
