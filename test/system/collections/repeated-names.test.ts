import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, defineCollection } from '../../../src/leadstream.js';
import { duckdb } from '../../support/duckdb.js';
import { ownKey, ownServer, ownText, runOwn } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const list = '    path: /orders\n    key: [no]\n    paging: { scheme: none }';

/** Serves these bodies in turn, the last one for ever. */
const serving = (...bodies: readonly string[]) => {
  let asked = 0;
  return ownServer((response) => response.writeHead(200).end(bodies[Math.min(asked++, bodies.length - 1)]));
};

describe('a name twice in a row', () => {
  const address = (text: string) => `"address":{"city":"A","geo":{"lat":1}${text}}`;
  const cases: readonly (readonly [what: string, row: string, field?: string | undefined, declared?: string])[] = [
    ['equal', '"total":"1","total":"1"'],
    ['equal, written in another way', '"total":"1.5","total":"\\u0031.5"'],
    ['different', '"total":"1","total":"2"', 'total'],
    ['a number and a text', '"total":1,"total":"1"', 'total'],
    ['null first', '"email":null,"email":"x"', 'email'],
    ['undeclared', '"UTM Source":"a","UTM Source":"b"', 'utm_source'],
    ['undeclared and dropped', '"utm":"a","utm":"b"', undefined, 'undeclared: drop'],
    ['nested and equal', address(',"city":"A"')],
    ['nested', address(',"city":"B"'), 'city'],
    ['deeper', address(',"geo":{"lat":2}'), 'lat'],
    ['beside the nested', address(',"zip":"1","zip":"2"'), 'address'],
    ['beside the nested, dropped', address(',"zip":"1","zip":"2"'), undefined, 'undeclared: drop'],
    ['around the nested', `${address('')},${address(',"x":1')}`, 'city'],
  ];

  test.each(cases.map(([what, row, field, declared = '']) => [what, { row, field, declared }] as const))(
    'is accepted if the values are equal, and otherwise that row is rejected: %s',
    async (_what, { row, field, declared }) => {
      const folder = await temporaryFolder();
      const from = await serving(`[{"no":"1"},{"no":"2",${row}},{"no":"3"}]`);
      const text = ownText(`${list}\n    ${declared}`, 'from: orders\nrejects: { max: 50% }\nto: [{ csv: { path: orders.csv } }]');
      const { sinks, rejects } = await runOwn(from, text, folder);
      const rows = await duckdb(`select no::text as no from read_csv('${folder}/orders.csv', all_varchar = true) order by no`);
      expect(rows.map(({ no }) => no)).toEqual(field === undefined ? ['1', '2', '3'] : ['1', '3']);
      expect(sinks[0]?.books).toMatchObject({ read: 3, written: rows.length, rejected: 3 - rows.length });
      expect(rejects.rows).toBe(3 - rows.length);
      const noted = (await readFile(join(folder, 'orders.csv.rejects.ndjson'), 'utf8')).split('\n').filter((line) => line !== '');
      const reason = 'occurs twice in its record, with different values';
      expect(noted.map((line) => JSON.parse(line) as unknown)).toEqual(
        field === undefined ? [] : [{ at: 'orders', key: { no: '2' }, field, reason }],
      );
    },
  );

  test('is null under on_error: null, and fails the run under fail', async () => {
    const [from, folder] = [await serving('[{"no":"1","total":"1","total":"2"},{"no":"2","total":"3"}]'), await temporaryFolder()];
    const to = 'to: [{ csv: { path: orders.csv, columns: [no, total] } }]';
    const run = (onError: string) => runOwn(from, ownText(list, `from: orders\non_error: ${onError}\n${to}`), folder);
    expect((await run('null')).sinks[0]).toMatchObject({ nulled: 1, books: { written: 2 } });
    expect(await readFile(join(folder, 'orders.csv'), 'utf8')).toBe('no,total\n1,\n2,3\n');
    const message = 'orders: field total occurs twice in its record, with different values in row 1 of page 1';
    await expect(run('fail')).rejects.toMatchObject({ code: 'E_STEP_VALUE', message });
  });

  test('fails the stream of a program', async () => {
    const { url } = await serving('[{"no":"1","total":"1","total":"2"}]');
    const orders = defineCollection('orders', {
      path: '/orders',
      key: ['no'],
      paging: { scheme: 'none' },
      fields: { no: 'text', total: 'text' },
    });
    await using service = connect({ baseUrl: `${url}/v2`, auth: { rest_api_key: ownKey }, collections: [orders] });
    const reading = async () => {
      for await (const _row of service.collection('orders'));
    };
    await expect(reading()).rejects.toThrow('orders: field total occurs twice in its record');
  });
});

describe('a name twice on the way to', () => {
  const row = '{"no":"1"}';
  const ways = [
    ['rows', `{"data":{"items":[${row}]},"data":{"items":[]}}`],
    ['rows, further in', `{"data":{"items":[${row}],"items":[]}}`],
    ['the next page', `{"data":{"items":[${row}]},"paging":{"more":true,"next":"a","next":"b"}}`],
    ['whether there is more', `{"data":{"items":[${row}]},"paging":{"more":true,"more":false}}`],
  ] as const;

  test.each(ways)('%s makes an answer suspect: it is requested again, and at last refused', async (_what, odd) => {
    const declared = `    path: /orders
    key: [no]
    rows: /data/items
    paging: { scheme: cursor, next: /paging/next, more: /paging/more, param: cursor }`;
    const folder = await temporaryFolder();
    const good = `{"data":{"items":[${row}]},"paging":{"more":false}}`;
    expect(await runOwn(await serving(odd, good), ownText(declared), folder)).toMatchObject({ read: 1 });
    await expect(runOwn(await serving(odd), ownText(declared), folder)).rejects.toMatchObject({
      code: 'E_SOURCE_ANSWER',
      exit: 69,
      message: expect.stringMatching(/the name "(data|items|next|more)" occurs twice in an object \(after 3 attempts\)$/),
    });
  });
});
