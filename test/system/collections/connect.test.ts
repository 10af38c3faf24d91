import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { connect, defineCollection } from '../../../src/index.js';
import { byCursor, isMore, orders as records, ownServer, send, slice } from '../../support/odd-server.js';

const orders = defineCollection('orders', {
  path: '/orders',
  key: ['no'],
  rows: '/data/items',
  paging: { scheme: 'cursor', next: '/paging/next', param: 'cursor' },
  undeclared: 'drop',
  fields: { no: 'text', total: 'decimal', email: { type: 'text', sensitivity: 'personal' }, city: { type: 'text', at: '/address/city' } },
});

const auth = { bearer: 'token-7f3a9c' };
const common = { auth, limit: 10, endWaitMs: 1, collections: [orders] };

describe('a program reads a collection of its own', () => {
  test('page by page and row by row', async () => {
    const server = await ownServer(byCursor(records(45)));
    const service = connect({ ...common, baseUrl: `${server.url}/v2`, consistency: 'prove' });
    const stream = service.collection('orders');
    const rows = await lastValueFrom(stream.rows$.pipe(toArray()));
    expect(rows).toHaveLength(45);
    expect(rows[3]).toEqual({ no: '4', total: '3.75', email: null, city: 'City 3' });
    expect(stream.consistency).toMatchObject({ outcome: 'proven' });
    const types = { no: 'text', total: 'decimal', email: 'text', city: 'text' };
    expect(stream.columns?.map(({ name, type }) => [name, type])).toEqual(Object.entries(types));
    expect(await firstValueFrom(stream.pages$)).toMatchObject({ number: 1, rows: { length: 10 } });
    await service.close();
  });

  test('and single records by their identifier', async () => {
    const [first] = records(1);
    const server = await ownServer((response, { pathname }) =>
      pathname === '/v2/orders/1' ? send(response, first) : send(response, { error: 'none' }, {}, 404),
    );
    const service = connect({ ...common, baseUrl: `${server.url}/v2` });
    expect(await service.collection('orders').find('1')).toEqual([{ no: '1', total: '0', email: null, city: 'City 0' }]);
    expect(await service.collection('orders').find('2')).toEqual([]);
    await service.close();
  });

  test('beside those that every service has', async () => {
    const server = await ownServer((response, url, ...rest) => {
      if (url.pathname !== '/v2/api/users') return byCursor(records(5))(response, url, ...rest);
      const sent = slice([{ uid: '1', email: 'a@b.c', affid: '2' }], url, 10 * (Number(url.searchParams.get('page')) - 1));
      send(response, isMore(sent) ? [] : sent.rows);
    });
    const service = connect({ ...common, baseUrl: `${server.url}/v2` });
    expect(await lastValueFrom(service.users.rows$.pipe(toArray()))).toEqual([{ uid: '1', email: 'a@b.c', affid: '2' }]);
    expect(await lastValueFrom(service.collection('orders').rows$.pipe(toArray()))).toHaveLength(5);
    await service.close();
  });
});
