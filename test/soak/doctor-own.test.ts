import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { defineCollection, diagnoseService } from '../../src/index.js';
import type { Handler } from '../support/odd-server.js';
import { orders, ownKey, send } from '../support/own-server.js';
import { startServer } from '../support/odd-server.js';

/** Ways to serve a collection, in any combination, and to declare it. */
const service = fc.record({
  scheme: fc.constantFrom('page', 'offset', 'cursor', 'last', 'link', 'link in the answer'),
  rows: fc.constantFrom('', '/items', '/data/items'),
  cap: fc.integer({ min: 1, max: 700 }),
  overCap: fc.constantFrom('fewer', 'refused'),
  first: fc.constantFrom(0, 1),
  declaresFirst: fc.boolean(),
  end: fc.constantFrom('list', 'empty_object', 'null', 'no_content', 'not_found'),
});

type Way = typeof service extends fc.Arbitrary<infer W> ? W : never;

/** What is wrong with the declaration. */
const faults = ['nothing', 'rows', 'next', 'param', 'end'] as const;

/** A server of so many orders. */
function served({ scheme, rows, cap, overCap, first, end }: Way, count: number): Handler {
  const all = orders(count);
  return (response, url, _attempt, { headers }) => {
    const asked = (name: string) => url.searchParams.get(name);
    if (asked('rest_api_key') !== ownKey) return send(response, { error: 'key' }, {}, 401);
    const size = Number(asked('size') ?? 10);
    if (size > cap && overCap === 'refused') return send(response, { error: 'size' }, {}, 400);
    const most = Math.min(size, cap);
    const page = Number(asked('at') ?? first);
    const from = scheme === 'page' ? (page - first) * most : Number(asked('at') ?? 0);
    if (from < 0) return send(response, { error: 'page' }, {}, 400);
    const sent = all.slice(from, from + most);
    const next = from + sent.length < count ? String(from + sent.length) : undefined;
    const isPast = sent.length === 0 && (scheme === 'page' || scheme === 'offset' || scheme === 'last');
    if (isPast && end === 'no_content') return void response.writeHead(204).end();
    if (isPast && end === 'not_found') return send(response, { error: 'none' }, {}, 404);
    if (isPast && end !== 'list') return send(response, end === 'null' ? null : {});
    const target = new URL(url.pathname + url.search, `http://${headers.host ?? ''}`);
    if (next !== undefined) target.searchParams.set('at', next);
    const hint = scheme === 'cursor' ? { next } : scheme === 'link in the answer' && next !== undefined ? { next: target.href } : {};
    const list = rows === '' ? sent : rows === '/items' ? { items: sent, ...hint } : { data: { items: sent }, ...hint };
    send(response, list, scheme === 'link' && next !== undefined ? { link: `<${target.href}>; rel="next"` } : {});
  };
}

/** How such a server is declared, with one thing wrong. */
function declared({ scheme, rows, first, declaresFirst, end }: Way, fault: (typeof faults)[number]) {
  const param = fault === 'param' ? 'other' : 'at';
  const next = fault === 'next' ? '/nxt' : '/next';
  const paging = {
    page: { scheme: 'page', param, limit: 'size', ...(declaresFirst && { first }) },
    offset: { scheme: 'offset', param, limit: 'size' },
    cursor: { scheme: 'cursor', param, next, limit: 'size' },
    last: { scheme: 'cursor', param, last: 'no', limit: 'size' },
    link: { scheme: 'link', limit: 'size' },
    'link in the answer': { scheme: 'link', next, limit: 'size' },
  } as const;
  return defineCollection('orders', {
    path: '/v2/orders',
    key: ['no'],
    rows: fault === 'rows' ? '/elsewhere' : rows,
    paging: paging[scheme],
    ...(end !== 'list' && fault !== 'end' && { end }),
    fields: { no: 'text', total: 'decimal' },
  });
}

async function diagnosed(way: Way, count: number, fault: (typeof faults)[number]) {
  const server = await startServer(served(way, count));
  try {
    const collections = [declared(way, fault)];
    const auth = { rest_api_key: ownKey };
    const diagnosis = await diagnoseService({ baseUrl: server.url, auth, collections }, { collections: ['orders'], ratePerSecond: 5_000 });
    expect(diagnosis.requests).toBe(server.requests.length);
    expect(diagnosis.requests).toBeLessThanOrEqual(60);
    return diagnosis;
  } finally {
    server.close();
  }
}

/** A cursor or link in the answer needs an answer around the list. */
const isPossible = ({ scheme, rows }: Way) => rows !== '' || (scheme !== 'cursor' && scheme !== 'link in the answer');

test('what doctor is sure of in a collection of one’s own is so, however it is served', async () => {
  const check = async (way: Way, count: number) => {
    const { ready, block = '', findings } = await diagnosed(way, count, 'nothing');
    const told = JSON.stringify(findings.map(({ check: point, outcome, message }) => [point, outcome, message]));
    expect([ready, told]).toEqual([true, told]);
    const [, limit] = /limit: (\d+)/.exec(block) ?? [];
    const cap = Math.min(way.cap, 500);
    if (count > cap || way.overCap === 'refused') expect([Number(limit), told]).toEqual([cap, told]);
    else expect(Number(limit)).toBeGreaterThanOrEqual(Math.min(cap, count));
    const [, firstPage] = /first_page: (\d)/.exec(block) ?? [];
    expect([firstPage, told]).toEqual([way.scheme === 'page' && !way.declaresFirst ? String(way.first) : undefined, told]);
  };
  const count = fc.oneof(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 41, max: 1_500 }));
  await fc.assert(fc.asyncProperty(service.filter(isPossible), count, check), { numRuns: 150 });
}, 600_000);

test('doctor gives no block for a collection of one’s own that is not as it is declared', async () => {
  const applies = (way: Way, count: number, fault: (typeof faults)[number]) => {
    if (fault === 'next') return way.scheme === 'cursor' || way.scheme === 'link in the answer';
    if (fault === 'param') return !way.scheme.startsWith('link');
    // An answer of 404 behind the first page is the end of a list by numbers anyway.
    const isNumbered = way.scheme === 'page' || way.scheme === 'offset';
    // The end of a list without page numbers is seen after a few pages alone.
    if (fault === 'end')
      return way.end !== 'list' && (way.scheme === 'last' ? count <= 3 * way.cap : isNumbered && way.end !== 'not_found');
    return fault === 'rows';
  };
  const check = async (way: Way, count: number, fault: (typeof faults)[number]) => {
    const { block, findings } = await diagnosed(way, count, fault);
    expect([block, findings.map(({ check: point, outcome, message }) => [point, outcome, message])]).toEqual([
      undefined,
      expect.anything(),
    ]);
  };
  // A single row on the first page, and no other page: nobody can tell whether that is all.
  const wrong = fc.tuple(
    service.filter((way) => isPossible(way) && way.cap > 1),
    fc.integer({ min: 2, max: 400 }),
    fc.constantFrom(...faults),
  );
  await fc.assert(
    fc.asyncProperty(
      wrong.filter((given) => applies(...given)),
      (given) => check(...given),
    ),
    { numRuns: 150 },
  );
}, 600_000);
