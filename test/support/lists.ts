import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ConsistencyMode } from '../../src/core/index.js';
import { LeadstreamError } from '../../src/core/errors.js';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline } from '../../src/run/index.js';
import { seeded } from './seeded.js';

/** How long a run waits at an end that may be an outage, in milliseconds; outages are shorter. */
const endWaitMs = 150;
export const modes = ['check', 'repair', 'prove'] as const;

type Item = Readonly<Record<'id' | 'at', number> & { v: string }>;

type Random = () => number;

/** The rows that a service has, sorted by `at`. */
class Items {
  /** Those that were there throughout. */
  readonly survivors: Set<number>;
  readonly rows: Item[];
  #id: number;

  constructor(ats: readonly number[]) {
    this.rows = ats.map((at, index) => ({ id: 1_000 + index, at, v: 'old' }));
    this.survivors = new Set(this.rows.map(({ id }) => id));
    this.#id = 1_000 + ats.length;
  }

  append(): void {
    this.rows.push({ id: this.#id, at: this.#last + 1, v: 'new' });
    this.#id += 1;
  }

  /** Changes a row, which moves to the end. */
  touch(random: Random): void {
    const at = this.#last + 1;
    for (const { id } of this.#taken(random)) this.rows.push({ id, at, v: 'changed' });
  }

  /** Removes a row, but not the last one. */
  remove(random: Random): void {
    for (const { id } of this.rows.length > 1 ? this.#taken(random) : []) this.survivors.delete(id);
  }

  get #last(): number {
    return this.rows.at(-1)?.at ?? 0;
  }

  #taken(random: Random): readonly Item[] {
    return this.rows.splice(Math.floor(random() * this.rows.length), 1);
  }
}

type Answer = readonly [status: number, body?: unknown, headers?: Readonly<Record<string, string>>];

/** A request for rows, and the right ones. */
interface Facts {
  readonly url: URL;
  readonly from: number;
  readonly size: number;
  readonly all: readonly Item[];
  readonly items: readonly Item[];
}

/** How a service pages its lists. */
interface Scheme {
  readonly declared: Readonly<Record<string, unknown>>;
  /** Returns the position of the first row requested; a request for `NaN` is refused. */
  readonly from: (query: URLSearchParams, all: readonly Item[], size: number) => number;
  /** Returns what an answer says about the next page, and where there is none. */
  readonly next: (facts: Facts) => unknown;
  readonly end?: (facts: Facts) => unknown;
  readonly answer: (items: readonly Item[], next: unknown, facts: Facts) => Answer;
  readonly newestFirst?: true;
  /** Whether a cursor can be used once. */
  readonly once?: true;
}

/** Continues behind, or with, a row. */
const rowAfter =
  (param: string, field: 'id' | 'at', inclusive = false): Scheme['from'] =>
  (query, all) => {
    const token = Number(query.get(param) ?? -1);
    const from = all.findIndex((item) => (inclusive ? item[field] >= token : item[field] > token));
    return from === -1 && !Number.isNaN(token) ? all.length : from === -1 ? Number.NaN : from;
  };

const page: Scheme = {
  declared: { paging: { scheme: 'page', param: 'page', limit: 'size' } },
  from: (query, _all, size) => (Number(query.get('page')) - 1) * size,
  next: () => undefined,
  answer: (items) => [200, items],
};

const offset: Scheme = {
  declared: { rows: '/items', paging: { scheme: 'offset', param: 'skip', limit: 'size' } },
  from: (query) => Number(query.get('skip')),
  next: () => undefined,
  answer: (items, _next, { all }) => [200, { items, total: all.length }],
};

function cursor(end: null | '' | undefined, field: 'id' | 'at' = 'id', inclusive = false): Scheme {
  return {
    declared: { rows: '/results', paging: { scheme: 'cursor', next: '/paging/after', param: 'after', limit: 'size' } },
    from: rowAfter('after', field, inclusive),
    next: ({ items }) => items.at(-1)?.[field],
    end: () => end,
    answer: (results, next) => [200, { results, ...(next === undefined ? {} : { paging: { after: next } }) }],
  };
}

let issued = 0;
const another: Scheme['next'] = ({ items, url }) =>
  Math.floor(items.at(-1)?.id ?? Number(url.searchParams.get('after'))) + (issued += 1) / 1e6;
const scroll: Scheme = { ...cursor(undefined), next: another, once: true };
const scrollUntilEmpty: Scheme = { ...scroll, declared: { ...scroll.declared, end: 'empty_page' }, end: another };

function more(field: 'id' | 'at', inclusive = false): Scheme {
  return {
    declared: { rows: '/data', paging: { scheme: 'cursor', last: field, more: '/has_more', param: 'starting_after', limit: 'size' } },
    from: rowAfter('starting_after', field, inclusive),
    next: () => true,
    end: () => false,
    answer: (data, next) => [200, { data, has_more: next }],
  };
}

function last(field: 'id' | 'at'): Scheme {
  return {
    declared: { paging: { scheme: 'cursor', last: field, param: 'since', limit: 'size' } },
    from: rowAfter('since', field),
    next: ({ items }) => items.at(-1)?.[field],
    answer: (items, next) => [200, items.map((item, index) => (index === items.length - 1 ? { ...item, [field]: next } : item))],
  };
}

const link: Scheme = {
  declared: { paging: { scheme: 'link', limit: 'size' } },
  from: (query, _all, size) => (Number(query.get('page') ?? 1) - 1) * size,
  next: (facts) => `${linkTo(facts, 1)}; rel="next", ${linkTo(facts, 9)}; rel="last"`,
  end: (facts) => (facts.from === 0 ? undefined : `${linkTo(facts, -1)}; rel="prev", ${linkTo(facts, -1)}; rel="first"`),
  answer: (items, next) => [200, items, typeof next === 'string' ? { link: next } : {}],
};

function linkTo({ url, from, size }: Facts, pages: number): string {
  const to = new URL(url);
  to.searchParams.set('page', String(from / size + 1 + pages));
  return `<${to.href}>`;
}

function rightly(scheme: Scheme, facts: Facts): Answer {
  const isMore = facts.from + facts.items.length < facts.all.length;
  return scheme.answer(facts.items, (isMore ? scheme.next : (scheme.end ?? scheme.next))(facts), facts);
}

/** What is drawn for a run. */
interface Draw {
  readonly limit: number;
  readonly rows: number;
  /** Draws a whole number. */
  readonly below: (most: number) => number;
}

type Ats = (draw: Draw) => readonly number[];
type Lie = (scheme: Scheme, draw: Draw) => (facts: Facts) => Answer | undefined;

const byNumber = { page, offset };
const byCursor = { cursor: cursor(undefined), 'null cursor': cursor(null), scroll };
const byPointer = { ...byCursor, link };
const byLast = { last: last('at') };
const byMore = { more: more('id') };
const every = { ...byNumber, ...byPointer, ...byMore, ...byLast };
const tied = { ...byLast, 'last with more': more('at'), 'inclusive last with more': more('at', true) };

/** @param others Values of `at`, if not all different; whether answers that are no list are always declared as ends; and runs unchecked. */
function trap(name: string, schemes: Readonly<Record<string, Scheme>>, lie: Lie, others: { ats?: Ats; ends?: true; off?: true } = {}) {
  return Object.entries(schemes).map(([of, scheme]) => ({ name: `${of}: ${name}`, scheme, lie, ...others }));
}

/** Answers a page wrongly from its first request on, in half of the runs all pages, for a while; `mayPersist`: or the page for good. */
const outage =
  (answer: (scheme: Scheme, facts: Facts, choice: number) => Answer, mayPersist = false): Lie =>
  (scheme, { rows, limit, below }) => {
    const at = limit * below(Math.ceil(rows / limit));
    const isWide = below(2) === 0;
    const lastsMs = mayPersist && below(2) === 0 ? Infinity : 1 + 0.8 * (endWaitMs - 2) * (below(1_000) / 1_000) ** 2;
    const choice = below(1_000);
    let began: number | undefined;
    return (facts) => {
      const isHere = isWide && lastsMs < Infinity ? facts.from >= at : facts.from === at;
      if (isHere && facts.size > 1) began ??= performance.now();
      const isOut =
        began !== undefined && performance.now() - began < lastsMs && ((isHere && facts.size > 1) || (isWide && lastsMs < Infinity));
      return isOut ? answer(scheme, facts, choice) : undefined;
    };
  };

const anyOf = <I>(items: readonly I[], choice: number) => items[choice % items.length];
const empty = outage((scheme, facts) => scheme.answer([], scheme.end?.(facts), facts));
const noContent = outage(() => [204]);
const notFound = outage(() => [404, { error: 'not found' }]);
const ended = outage((scheme, facts) => scheme.answer(facts.items, scheme.end?.({ ...facts, from: facts.size }), facts));
const brief = (value?: null): Lie => outage((scheme, facts) => scheme.answer(facts.items, value, facts));
const unreadable = (...values: readonly unknown[]): Lie =>
  outage((scheme, facts, choice) => scheme.answer(facts.items, anyOf(values, choice), facts), true);
const errors = [{ error: 'busy' }, { errors: [{ message: 'busy' }] }, { code: 503, message: 'busy' }, { status: 500 }, { fault: 'busy' }];
const error = (_scheme: Scheme, _facts: Facts, choice: number): Answer => [200, anyOf(errors, choice)];
const badLinks = [
  '</items?page=3; rel="next"',
  '/items?page=3>; rel="next"',
  '</items?page=3>; rel="next',
  '</items?page=3>',
  'next',
  '<>',
];
const plainly: Lie = () => () => undefined;

/** Answers other rows than the right ones. */
const showing =
  (rows: (facts: Facts, part: number, draw: Draw) => readonly Item[]): Lie =>
  (scheme, draw) => {
    const part = draw.below(1_000) / 1_000;
    return (facts) => scheme.answer(rows(facts, part, draw), undefined, facts);
  };

const pointless = showing(({ items, all }, part, { limit }) => (part < 0.5 ? items : all.slice(0, limit)));
const late = showing(({ all, from, size }) => all.slice(from + from / size, from + from / size + size));
const hiding = showing(({ from, size, items }, part) => (from === 0 && size > 1 ? items.slice(0, (part * size) / 3) : items));
const long = showing(({ all, from, size }, part) => all.slice(from, from + size + (size === 1 && part < 0.3 ? 0 : Math.ceil(part * size))));
const same = showing(({ all, size }, part, { limit }) => all.slice(0, Math.min(part < 0.5 ? size : Infinity, 1 + 2 * part * limit)));

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Values that come several times, in groups of these lengths. */
const groups =
  (length: (draw: Draw, group: number) => number): Ats =>
  (draw) => {
    const ats: number[] = [];
    for (let group = 1; ats.length < draw.rows; group += 1) ats.push(...Array.from({ length: length(draw, group) }, () => group));
    return ats.slice(0, draw.rows);
  };

const oneTie: Ats = ({ rows, limit, below }) => {
  const border = limit * (1 + below(Math.max(1, Math.ceil(rows / limit) - 1)));
  return upTo(rows).map((at) => (at <= border ? at : at - 1));
};
const fullPages = groups(({ limit, below }, group) => (group % 4 === 2 ? limit + below(limit) : 1 + below(2)));

/** Lists that mislead their readers. */
export const traps = [
  trap('an outage: an empty list', every, empty),
  trap('an outage: 204', every, noContent),
  trap('an outage: 404', every, notFound),
  trap('an outage: an error with 200', every, outage(error)),
  trap('an outage: rows without a pointer', { ...byPointer, ...byLast }, brief()),
  trap('an outage: rows with a null pointer', { ...byCursor, ...byLast }, brief(null)),
  trap('an outage: rows and a declared end', { link, ...byMore }, ended),
  trap('an error that passes for an end', every, outage(error, true), { ends: true }),
  trap('an unreadable end', byCursor, unreadable(0, -1, [], {}, true, [1], { after: 1 })),
  trap('an unreadable end', { link }, unreadable(...badLinks)),
  trap('an unreadable end', byMore, unreadable(2, -1, 'no', null, [], {}, undefined)),
  trap('an unreadable end', byLast, unreadable('', [], {}, true, null, undefined)),
  trap('a pointer that is never there', byPointer, pointless),
  trap('ties in many places', tied, plainly, { ats: groups(({ below }) => 1 + below(4)) }),
  trap('one tie across a border', tied, plainly, { ats: oneTie }),
  trap('a full page of one value', tied, plainly, { ats: fullPages }),
  trap('ties over three pages', tied, plainly, { ats: groups(({ limit, below }, group) => (group === 4 ? 2 * limit + below(limit) : 1)) }),
  trap('pages that each begin a row late', byNumber, late),
  trap('a first page that hides rows', byNumber, hiding),
  trap('answers longer than the stride', byNumber, long, { off: true }),
  trap('the same rows for every page', byNumber, same),
].flat();

interface Setup {
  readonly scheme: Scheme;
  readonly items: Items;
  /** Changes the list at a request. */
  readonly change: (request: number) => void;
  readonly lie?: ReturnType<Lie>;
  readonly limit: number;
  readonly consistency: ConsistencyMode;
  readonly ends?: boolean;
  /** Whether the list is on a side of a join, and whether an earlier run has read the first half of it. */
  readonly side?: boolean | undefined;
  readonly again?: boolean | undefined;
  /** Whether rows are printed, not written to a file. */
  readonly prints?: boolean | undefined;
}

/** Runs a pipeline over a list and compares what it published with the rows that the service has: those missing, and those that came twice. */
async function judged({ scheme, items, change, lie, limit, consistency, ends, side, again, prints }: Setup, folder: string) {
  let [isBefore, requests, waits, printed] = [again === true, 0, 0, ''];
  const used = new Set<string>();
  const others = items.rows.map(({ id }) => ({ id }));
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`);
    const size = Number(url.searchParams.get('size'));
    const all = items.rows.slice(0, items.rows.length / (isBefore ? 2 : 1));
    if (scheme.newestFirst) all.reverse();
    const from = scheme.from(url.searchParams, all, size);
    const facts = { url, from, size, all, items: all.slice(from, from + size) };
    const reply = (): Answer => {
      if (url.pathname === '/others') return [200, others];
      requests += 1;
      const isUsed = scheme.once === true && url.searchParams.has('after') && used.size === used.add(url.search).size;
      if (isUsed || !(from >= 0)) return [400, { error: 'no such page' }];
      if (isBefore) return rightly(scheme, facts);
      change(requests);
      return lie?.(facts) ?? rightly(scheme, facts);
    };
    const [status, body, headers] = reply();
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(status === 204 ? '' : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseDir = await mkdtemp(join(folder, 'run-'));
  const file = join(baseDir, 'rows.ndjson');
  const declaredEnds = ends ? { end: ['no_content', 'not_found', 'no_rows'] } : {};
  const text = JSON.stringify({
    name: 'list',
    service: {
      base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      auth: { rest_api_key: '${KEY}' },
      ...{ limit, threads: 0, end_wait: `${endWaitMs}ms`, max_pages: 400, retry: { base: '1ms', cap: '1ms', attempts: 2 } },
    },
    collections: {
      items: { path: '/items', key: ['id'], ...declaredEnds, ...scheme.declared, fields: { id: 'text', at: 'text', v: 'text' } },
      others: { path: '/others', key: ['id'], paging: { scheme: 'none' }, fields: { id: 'text' } },
    },
    from: side ? 'others' : 'items',
    steps: side ? [{ join: { with: 'items', on: { id: 'id' }, as: 's', select: ['v'] } }] : [],
    ...{ consistency, spool: 'off', to: [prints ? { stdout: { format: 'ndjson' } } : { ndjson: { path: file } }] },
  });
  const stdout = new Writable({ write: (chunk, _encoding, done) => ((printed += String(chunk)), done()) });
  const watch = { wait: ({ delayMs }: { readonly delayMs: number }) => void (waits += delayMs / endWaitMs) };
  const run = async () =>
    runPipeline(await loadPipeline({ text, file: 'list' }, { env: { KEY: 'a-key-of-lists' }, baseDir }), { watch, stdout });
  const began = performance.now();
  const cost = () => ({ requests, waits, ms: performance.now() - began });
  try {
    if (isBefore) await run();
    [isBefore, requests, waits, printed] = [false, 0, 0, ''];
    const { consistency: found, sides, warnings } = await run();
    const lines = (prints ? printed : await readFile(file, 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.includes('"s_v":null'));
    const came = new Set(lines.map((line) => Number(/"id":"(\d+)"/.exec(line)?.[1])));
    const missing = [...items.survivors].filter((id) => !came.has(id)).length;
    const codes = warnings.flatMap(({ code, message }) => (code.startsWith('W_SOURCE') && !message.startsWith('others') ? [code] : []));
    const { outcome } = side ? (sides[0]?.consistency ?? found) : found;
    return { outcome: String(outcome), failed: false, missing, twice: lines.length - came.size, warnings: codes, ...cost() };
  } catch (thrown) {
    if (!(thrown instanceof LeadstreamError) || thrown.exit === 78) throw thrown;
    return { outcome: thrown.code, failed: true, missing: 0, twice: 0, warnings: [], ...cost() };
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(baseDir, { recursive: true, force: true });
  }
}

/** Runs over a list that misleads. In 48 seeds in a row the main things about a run come in every combination. */
export async function runOverTrap(trap: (typeof traps)[number], seed: number, folder: string) {
  const random = seeded(seed * 7_919 + 17);
  const below = (most: number) => Math.floor(random() * most);
  const limit = 5 + below(46);
  const pages = Math.min(1 + below(8), Math.floor(300 / limit));
  const rows = Math.max(20, limit * pages + ([1, -1, below(limit)][below(4)] ?? 0));
  const [side, isGrowing, again, prints] = [3, 6, 12, 24].map((of) => Math.floor(seed / of) % 2 === 1);
  const consistency: ConsistencyMode = (trap.off && seed % 4 === 3 ? undefined : modes[seed % 3]) ?? 'off';
  const run = { limit, consistency, side, again, prints, ends: trap.ends ?? below(2) === 0 };
  const draw = { limit, rows, below };
  const items = new Items(trap.ats?.(draw) ?? upTo(rows));
  const lie = trap.lie(trap.scheme, draw);
  const change = (request: number) => isGrowing && request % 7 === 0 && request < 100 && items.append();
  const about = JSON.stringify({ rows, isGrowing, ...run });
  return { about, ...(await judged({ scheme: trap.scheme, items, change, lie, ...run }, folder)) };
}

/** Services that behave as they should. While a list grows, rows are added at its end, unless they are changed. */
export const services: Readonly<Record<string, { readonly scheme: Scheme; readonly grows?: 'touch'; readonly ats?: Ats }>> = {
  'page numbers': { scheme: page },
  'page numbers, last updated first': { scheme: { ...page, newestFirst: true }, grows: 'touch' },
  offset: { scheme: offset },
  'GitHub: Link header': { scheme: link },
  'HubSpot: paging left out': { scheme: cursor(undefined) },
  'Slack: an empty cursor': { scheme: cursor('') },
  'a null cursor': { scheme: cursor(null) },
  'Stripe: has_more': { scheme: more('id') },
  'the id of the last row': { scheme: last('id') },
  'an inclusive cursor': { scheme: cursor(null, 'id', true) },
  'a cursor by update time': { scheme: cursor(null, 'at'), grows: 'touch' },
  'the update time of the last row': { scheme: last('at'), grows: 'touch' },
  'the update time, inclusive, with ties': { scheme: more('at', true), grows: 'touch', ats: groups(({ below }) => 1 + below(3)) },
  'a scroll cursor': { scheme: scroll },
  'a scroll cursor until an empty page': { scheme: scrollUntilEmpty },
};

const pageSize = 10;
export const movements = ['still', 'growing', 'shrinking'] as const;
/** Numbers of rows. */
export const sizes = [0, 1, 9, 10, 11, 29, 30, 31] as const;

type Case = Pick<Setup, 'consistency'> & { readonly rows: number; readonly moves: (typeof movements)[number] };

/** Runs over a list of a service that behaves as it should. `extra`: requests beyond the pages with rows. */
export async function runOverService(service: string, { rows, moves, consistency }: Case, folder: string) {
  const { scheme = page, grows = 'append', ats } = services[service] ?? {};
  const random = seeded(rows);
  const below = (most: number) => Math.floor(random() * most);
  const items = new Items(ats?.({ limit: pageSize, rows, below }) ?? upTo(rows));
  const change = (request: number) => {
    if (moves !== 'still' && request % 3 === 0 && request < 15) items[moves === 'growing' ? grows : 'remove'](random);
  };
  const run = await judged({ scheme, items, change, limit: pageSize, consistency }, folder);
  return { ...run, extra: run.requests - Math.max(1, Math.ceil(items.rows.length / pageSize)) };
}
