/**
 * Three public services, rebuilt from their documentation:
 *
 * - GitHub: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api and
 *   https://docs.github.com/en/rest/issues/issues#list-repository-issues
 * - Stripe: https://docs.stripe.com/api/pagination and https://docs.stripe.com/api/customers/list
 * - HubSpot: https://developers.hubspot.com/docs/api/crm/contacts
 */
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { ownServer, send, type Handler } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const token = 'ghp_token-7f3a9c';

/** Refuses what the documentation says is refused: other credentials, and a page size over the maximum. */
const guarded =
  (size: string, serve: Handler, overMaximum: 'cap' | 'refuse'): Handler =>
  (response, url, attempt, request) => {
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, { message: 'Bad credentials' }, {}, 401);
    if (!request.headers['user-agent']) return send(response, { message: 'User-Agent is missing' }, {}, 403);
    const asked = Number(url.searchParams.get(size) ?? 10);
    if (asked > 100 && overMaximum === 'refuse') return send(response, { error: { type: 'invalid_request_error' } }, {}, 400);
    serve(response, url, attempt, request);
  };

const issue = (index: number) => ({
  id: 9_007_199_254_740_993n + BigInt(index),
  number: index + 1,
  title: `Found a bug "${index}", é`,
  user: { login: `octocat-${index % 5}` },
  labels: index % 2 === 0 ? [{ id: 208045946, name: 'bug', default: true }] : [],
  state: index % 3 === 0 ? 'closed' : 'open',
  locked: index % 7 === 0,
  comments: index % 4,
  created_at: '2011-04-22T13:33:48Z',
  closed_at: index % 3 === 0 ? '2011-04-23T13:33:48Z' : null,
  ...(index % 10 === 0 ? { pull_request: { url: `https://api.github.com/repos/octocat/Spoon-Knife/pulls/${index + 1}` } } : {}),
});

/** JSON of whole numbers that no `number` can hold. */
const json = (value: unknown) =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `\u0000${inner}` : inner)).replaceAll(/"\\u0000(\d+)"/g, '$1');

const gitHub: Handler = (response, url, _attempt, { headers }) => {
  const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
  const page = Number(url.searchParams.get('page') ?? 1);
  const issues = Array.from({ length: 1_234 }, (_, index) => issue(index)).slice((page - 1) * size, page * size);
  const last = Math.ceil(1_234 / size);
  // The links name the repository by its number.
  const to = (number: number, rel: string) => {
    const next = new URL(`http://${headers.host ?? ''}/repositories/1300192/issues${url.search}`);
    next.searchParams.set('page', String(number));
    return `<${next.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(page - 1, 'prev'), to(1, 'first')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
  ];
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', link: links.join(', ') }).end(json(issues));
};

test('GitHub: the issues of a repository', async () => {
  const server = await ownServer(guarded('per_page', gitHub, 'cap'));
  const cwd = await temporaryFolder();
  const env = { GITHUB_API: server.url, GITHUB_TOKEN: token };
  const { code, stderr } = await cli(['run', join(process.cwd(), 'examples/other-services/github-issues.yaml')], { cwd, env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [found] = await duckdb(
    `select count(*)::int as n, count(distinct id)::int as keys, max(id) as id, sum(number)::int as numbers, count(*) filter (locked)::int as locked, count(pull_request)::int as pulls, ` +
      `count(distinct author)::int as authors, count(closed_at)::int as closed, max(labels) as labels, min(title) as title from read_parquet('${cwd}/lake/issues/*.parquet')`,
  );
  expect(found).toEqual({
    n: 1_234,
    keys: 1_234,
    id: '9007199254742226',
    numbers: (1_234 * 1_235) / 2,
    locked: 177,
    pulls: 124,
    authors: 5,
    closed: 412,
    labels: '[{"id":208045946,"name":"bug","default":true}]',
    title: 'Found a bug "0", é',
  });
  expect(new Set(server.requests.map(({ pathname }) => pathname))).toEqual(
    new Set(['/repos/octocat/Spoon-Knife/issues', '/repositories/1300192/issues']),
  );
  expect(stderr).not.toContain(token);
});

const customer = (index: number) => ({
  id: `cus_${String(5_000 - index).padStart(6, '0')}`,
  address: index % 2 === 0 ? { city: `City ${index % 11}`, country: 'US', line1: null } : null,
  balance: -index,
  created: 1_405_641_735 + index,
  currency: 'usd',
  delinquent: false,
  email: index % 5 === 0 ? null : `c${index}@example.com`,
  metadata: index % 3 === 0 ? { order_id: String(6_735 + index) } : {},
  name: `Jane ${index}`,
});

const customers = Array.from({ length: 437 }, (_, index) => customer(index));

const stripe: Handler = (response, url) => {
  const size = Number(url.searchParams.get('limit') ?? 10);
  const after = url.searchParams.get('starting_after');
  const place = customers.findIndex(({ id }) => id === after);
  if (after !== null && place < 0) return send(response, { error: { code: 'resource_missing', param: 'starting_after' } }, {}, 400);
  const data = customers.slice(place + 1, place + 1 + size);
  send(response, { object: 'list', url: '/v1/customers', has_more: data.at(-1)?.id !== customers.at(-1)?.id, data });
};

test('Stripe: the customers of an account', async () => {
  const server = await ownServer(guarded('limit', stripe, 'refuse'));
  const cwd = await temporaryFolder();
  const env = { STRIPE_API: server.url, STRIPE_SECRET_KEY: token };
  expect(await cli(['run', join(process.cwd(), 'examples/other-services/stripe-customers.yaml')], { cwd, env })).toMatchObject({ code: 0 });
  const [found] = await duckdb(
    `select count(*)::int as n, count(distinct id)::int as keys, sum(balance)::int as balance, min(created)::varchar as first, count(city)::int as cities, count(email)::int as mails, ` +
      `count(order_id)::int as ordered from read_parquet('${cwd}/lake/customers/*.parquet')`,
  );
  expect(found).toEqual({
    n: 437,
    keys: 437,
    balance: -(436 * 437) / 2,
    first: '2014-07-18 00:02:15+00',
    cities: 219,
    mails: 349,
    ordered: 146,
  });
  expect(server.requests[1]?.search).toBe(`?limit=100&starting_after=${customers[99]?.id}`);
});

const hubSpot: Handler = (response, url) => {
  const size = Number(url.searchParams.get('limit') ?? 10);
  const after = Number(url.searchParams.get('after') ?? 0);
  const results = Array.from({ length: 350 }, (_, index) => ({
    id: String(100 + index),
    properties: {
      email: `h${index}@example.com`,
      firstname: 'Ada',
      lastname: index % 2 === 0 ? null : `L${index}`,
      hs_object_id: String(100 + index),
    },
    updatedAt: '2024-09-12T11:36:22.982Z',
    archived: false,
  })).filter(({ id }) => Number(id) > after);
  const page = results.slice(0, size);
  const next = page.at(-1)?.id ?? '';
  send(response, {
    results: page,
    ...(results.length > size
      ? { paging: { next: { after: next, link: `https://api.hubapi.com/crm/v3/objects/contacts?after=${next}` } } }
      : {}),
  });
};

test('HubSpot: the contacts of a portal', async () => {
  const server = await ownServer(guarded('limit', hubSpot, 'refuse'));
  const cwd = await temporaryFolder();
  const env = { HUBSPOT_API: server.url, HUBSPOT_TOKEN: token };
  expect(await cli(['run', join(process.cwd(), 'examples/other-services/hubspot-contacts.yaml')], { cwd, env })).toMatchObject({ code: 0 });
  const [found] = await duckdb(
    `select count(*)::int as n, count(distinct email)::int as mails, count(lastname)::int as names, min(archived)::varchar as archived from read_parquet('${cwd}/lake/contacts/*.parquet')`,
  );
  expect(found).toEqual({ n: 350, mails: 350, names: 175, archived: 'false' });
});
