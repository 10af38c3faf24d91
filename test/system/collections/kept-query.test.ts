import { byCursor, byLink, orders, ownServer, ownText, runOwn, send, type Handler } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const to = 'to: [{ ndjson: { path: orders.ndjson } }]';
const query = 'query: { status: "paid & sent", "tags[]": a }';
const text = (mode: string, paging = 'scheme: link', rest = `from: orders\nconsistency: ${mode}\n${to}`, rows = '""') =>
  ownText(`    path: /orders\n    key: [no]\n    undeclared: drop\n    rows: ${rows}\n    paging: { ${paging} }\n    ${query}`, rest);
const kept = 'status=paid%20%26%20sent&tags%5B%5D=a';

/** Serves 30 orders to requests with the whole query, and more to others; the links to pages 2 and 3 have the given queries. */
const linking =
  (second: string, third = second): Handler =>
  (response, url, ...rest) => {
    const isWhole =
      /^(?:paid & sent)+$/.test(url.searchParams.getAll('status').join('')) && /tags[^=]*=a/.test(decodeURIComponent(url.search));
    const link = ({ searchParams }: URL) => `?${url.searchParams.has('after') ? third : second}&after=${searchParams.get('after')}`;
    byLink(orders(isWhole ? 30 : 41), link)(response, url, ...rest);
  };

describe('a link to the next page', () => {
  test.each<[second: string, third: string, isKept: boolean, underKeepQuery: number | string]>([
    [kept, kept, true, 30],
    ['tags[]=a&status=paid+%26+sent', kept, true, 30],
    [`x=1&${kept}&status=paid+%26%20sent`, kept, true, 30],
    [kept, 'status=paid%20%26%20sent&%74ags[0]=a', true, 30],
    ['x=1', 'x=1', false, 30],
    ['tags[]=a', kept, false, 30],
    [kept, 'Status=paid+%26+sent&tags[]=a', false, 30],
    ['status=&tags[]=a', kept, false, 'status'],
    [kept, `${kept}&status=open`, false, 'status'],
    [`${kept}&tags[1]=b`, kept, false, 'tags[]'],
  ])('is followed, and warned about unless it keeps the query: %s, then %s', async (second, third, isKept, underKeepQuery) => {
    const run = async (mode: string, keeps = '', set = {}) => {
      const server = await ownServer(linking(second, third));
      return runOwn(server, text(mode, `scheme: link${keeps}`), await temporaryFolder(), { set });
    };
    const message = expect.stringMatching(/^orders: the link on page [12] (?:lacks|changes) '(?:status|tags\[\])' of query/);
    const warnings = isKept ? [] : [{ code: 'W_SOURCE_LINK', message }];
    expect(await run('prove')).toMatchObject({ warnings, consistency: { outcome: isKept ? 'proven' : 'stable' } });
    expect(await run('off')).toMatchObject({ warnings, consistency: { outcome: 'off' } });
    const strict = run('check', '', { 'service.strict': 'true' }).catch(({ code, exit }: { code: string; exit: number }) => ({
      code,
      exit,
    }));
    expect(await strict).toMatchObject(isKept ? { read: 30 } : { code: 'E_GATE_STRICT', exit: 65 });
    expect(await run('prove', ', keep_query: false')).toMatchObject({ warnings: [], consistency: { outcome: 'proven' } });
    const keeping = run('prove', ', keep_query: true');
    const read = { read: underKeepQuery, warnings: [], consistency: { outcome: 'proven' } };
    if (typeof underKeepQuery === 'number') return expect(await keeping).toMatchObject(read);
    const refusal = expect.stringContaining(`the link to the next page changes '${underKeepQuery}' of query; it was not followed`);
    return expect(keeping).rejects.toMatchObject({ code: 'E_SOURCE_LINK', exit: 69, message: refusal });
  });

  test('that changes the query in a further pass only proves nothing either', async () => {
    let requests = 0;
    const server = await ownServer((...asked) => linking((requests += 1) > 4 ? 'x=1' : kept)(...asked));
    const report = await runOwn(server, text('prove'));
    expect(report).toMatchObject({ warnings: [{ code: 'W_SOURCE_LINK' }], consistency: { outcome: 'repaired', repaired: 11 } });
  });

  test.each(['', ', keep_query: true'])('is judged alike after a resume, and in a side of a join (%s)', async (keeps) => {
    let refuses = true;
    const server = await ownServer((response, url, ...rest) => {
      if (url.pathname.endsWith('/others')) return send(response, orders(5));
      if (url.searchParams.get('after') === '20' && refuses) return send(response, {}, {}, 403);
      linking('x=1')(response, url, ...rest);
    });
    const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
    const run = (rest?: string) => runOwn(server, text('prove', `scheme: link${keeps}`, rest), folder, { stateDir });
    await expect(run()).rejects.toMatchObject({ code: 'E_SOURCE_AUTH' });
    refuses = false;
    const warnings = keeps === '' ? [{ code: 'W_SOURCE_LINK' }] : [];
    const consistency = { outcome: keeps === '' ? 'stable' : 'proven' };
    expect(await run()).toMatchObject({ read: keeps === '' ? 41 : 30, resumed: 2, warnings, consistency });
    const others = '  others: { path: /others, key: [no], undeclared: drop, paging: { scheme: none }, fields: { no: text } }\n';
    const join = 'join: { with: orders, on: { no: no }, as: o, select: [total] }';
    expect(await run(`${others}from: others\nsteps: [{ ${join} }]\n${to}`)).toMatchObject({ read: 5, warnings });
  });
});

test('a list by cursor sends the query with every request', async () => {
  const server = await ownServer((response, url, ...rest) => {
    const { searchParams } = url;
    if (searchParams.get('status') !== 'paid & sent' || searchParams.get('tags[]') !== 'a') return send(response, {}, {}, 400);
    byCursor(orders(30))(response, url, ...rest);
  });
  const proving = text('prove', 'scheme: cursor, next: /paging/next, param: cursor', undefined, '/data/items');
  expect(await runOwn(server, proving)).toMatchObject({ read: 30, consistency: { outcome: 'proven' } });
});
