import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LeadstreamError } from '../../src/core/errors.js';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline } from '../../src/run/index.js';
import { failure, type Responder } from '../../src/service/answer.js';
import { generate, startService } from '../../src/service/index.js';
import { seeded } from './seeded.js';

/** Rows per page requested by runs. */
const limit = 20;
/** How long a run waits at an end, and how long an outage lasts, in milliseconds. */
const [endWaitMs, outageMs] = [60, 25];

/** A list of users that changes as its trap dictates. */
class List {
  /** Keys that were in the list throughout. */
  readonly survivors: Set<string>;
  readonly keys: string[];
  #added = 0;

  constructor(rows: number) {
    this.keys = Array.from({ length: rows }, (_, index) => String(100_000 + index));
    this.survivors = new Set(this.keys);
  }

  add(where: 'head' | 'tail'): void {
    const key = `9${String(10_000 + (this.#added += 1))}`;
    if (where === 'head') this.keys.unshift(key);
    else this.keys.push(key);
  }

  remove(position: number): void {
    for (const key of this.keys.splice(position, 1)) this.survivors.delete(key);
  }

  page(page: number, size: number, keys: readonly string[] = this.keys): string[] {
    return keys.slice((page - 1) * size, page * size).map((key) => row(key));
  }
}

function row(key: string, email = `${key}@example.org`): string {
  return JSON.stringify({ uid: key, email, affid: '1' });
}

type Random = () => number;

/** Answers one request for a page. */
type Answering = (page: number, size: number, request: number) => readonly string[] | 'refused';

/** A way in which a list misleads its readers, or one in which it is odd but honest. */
interface Trap {
  readonly name: string;
  /** Whether it needs so many requests that only the benchmark runs it. */
  readonly long?: boolean;
  readonly honest: boolean;
  /** Number of rows in the list. */
  readonly rows: (random: Random) => number;
  readonly answers: (list: List, random: Random) => Answering;
  readonly from?: 'links';
}

const some = (random: Random): number => 3 * limit + Math.floor(random() * 12 * limit);
const fewer = (random: Random): number => limit + Math.floor(random() * 6 * limit);
const pagesOf = (list: List): number => Math.ceil(list.keys.length / limit);
const pageIn = (list: List, random: Random, from = 1): number => from + Math.floor(random() * Math.max(1, pagesOf(list) - from + 1));

function lying(name: string, answers: Trap['answers'], rows: Trap['rows'] = some): Trap {
  return { name, honest: false, answers, rows };
}

function honest(name: string, answers: Trap['answers'], rows: Trap['rows'] = some, more: Pick<Trap, 'from'> = {}): Trap {
  return { name, honest: true, answers, rows, ...more };
}

const plainly: Trap['answers'] = (list) => (page, size) => list.page(page, size);

/** Orders the list differently for each request. */
const ordered =
  (order: (keys: readonly string[], random: Random, request: number) => readonly string[]): Trap['answers'] =>
  (list, random) =>
  (page, size, request) =>
    list.page(page, size, order(list.keys, random, request));

function shuffled(keys: readonly string[], random: Random): string[] {
  const left = [...keys];
  return keys.map(() => left.splice(Math.floor(random() * left.length), 1)[0] ?? '');
}

const turned = (keys: readonly string[], _random: Random, request: number) => (request % 2 ? keys : keys.toReversed());

const inGroups = (size: number) =>
  ordered((keys, random) =>
    Array.from({ length: Math.ceil(keys.length / size) }, (_, group) =>
      shuffled(keys.slice(group * size, (group + 1) * size), random),
    ).flat(),
  );

const nothing: readonly string[] = [];
const none = Number.MAX_SAFE_INTEGER;

/** Answers pages after a certain one like another page, or like that one. */
const capped =
  (instead: number | 'cap'): Trap['answers'] =>
  (list, random) => {
    const cap = pageIn({ ...list, keys: list.keys.slice(limit) } as List, random);
    return (page, size) => (page > cap ? list.page(instead === 'cap' ? cap : instead, size) : list.page(page, size));
  };

/** Answers some page wrongly the first time. */
const once =
  (answer: (list: List, page: number, size: number) => readonly string[]): Trap['answers'] =>
  (list, random) => {
    let wrong = pageIn(list, random);
    return (page, size) => {
      if (page !== wrong || size === 1) return list.page(page, size);
      wrong = none;
      return answer(list, page, size);
    };
  };

/** Answers without rows for a while, from the first request on that meets a condition. */
const outage =
  (begins: (list: List, random: Random) => (page: number, size: number, request: number) => boolean): Trap['answers'] =>
  (list, random) => {
    const begin = begins(list, random);
    let ends: number | undefined;
    return (page, size, request) => {
      if (begin(page, size, request)) ends ??= performance.now() + outageMs;
      return ends !== undefined && performance.now() < ends ? nothing : list.page(page, size);
    };
  };

const emptied = () => nothing;
const shortened = (list: List, page: number, size: number) => list.page(page, size).slice(0, -1);

function fromPage(list: List, random: Random) {
  const from = pageIn(list, random);
  return (page: number, size: number) => page >= from && size > 1;
}

export const traps: readonly Trap[] = [
  lying('a page that is empty for good', (list, random) => {
    const empty = pageIn(list, random);
    return (page, size) => (page === empty && size > 1 ? nothing : list.page(page, size));
  }),
  lying('two pages that are empty for good', (list, random) => {
    const empty = pageIn(list, random);
    return (page, size) => ((page === empty || page === empty + 1) && size > 1 ? nothing : list.page(page, size));
  }),
  lying('a page that is empty once', once(emptied)),
  lying('a page that lacks its last row once', once(shortened)),
  lying('an outage from a page on', outage(fromPage)),
  lying(
    'an outage from a request on',
    outage((list, random) => {
      const from = 1 + Math.floor(random() * (pagesOf(list) + 12));
      return (_page, _size, request) => request >= from;
    }),
  ),
  lying('an outage from a page on, in a list of full pages', outage(fromPage), (random) => limit * (2 + Math.floor(random() * 10))),
  lying('a page served as another', (list, random) => {
    const [wrong, other] = [pageIn(list, random), pageIn(list, random)];
    return (page, size) => list.page(page === wrong && size === limit ? other : page, size);
  }),
  lying('a page served as another once', (list, random) => {
    const other = pageIn(list, random);
    return once((_list, _page, size) => list.page(other, size))(list, random);
  }),
  lying('a page served as the one before it', (list, random) => {
    const wrong = pageIn(list, random, 2);
    return (page, size) => list.page(page === wrong && size === limit ? page - 1 : page, size);
  }),
  lying('no page above a number', capped(none)),
  lying('the last page that there may be again above a number', capped('cap')),
  lying('the first page again above a number', capped(1)),
  lying('the first page again behind the end', (list) => (page, size) => list.page((page - 1) * size < list.keys.length ? page : 1, size)),
  lying('all pages over and over', (list) => (page, size) => list.page(((page - 1) % Math.ceil(list.keys.length / size)) + 1, size)),
  lying('the last page again with a changing field', (list) => {
    let times = 0;
    return (page, size) => {
      if ((page - 1) * size < list.keys.length) return list.page(page, size);
      return list.keys.slice(-size).map((key) => row(key, `${(times += 1)}@example.org`));
    };
  }),
  lying('another order for neighbours', inGroups(3)),
  lying('another order for groups across pages', inGroups(limit + 7)),
  lying('another order throughout', ordered(shuffled), fewer),
  lying('the other direction every other time', ordered(turned)),
  lying(
    'another beginning',
    ordered((keys, random) => {
      const from = Math.floor(random() * keys.length);
      return [...keys.slice(from), ...keys.slice(0, from)];
    }),
    fewer,
  ),

  lying('every fifth page empty once', (list) => {
    const seen = new Set<number>();
    return (page, size) => {
      if (size === 1 || page % 5 !== 0 || seen.has(page)) return list.page(page, size);
      seen.add(page);
      return nothing;
    };
  }),
  lying('two pages that are empty for good, by position', (list, random) => {
    const from = pageIn(list, random, 2) * limit;
    const keys = [...list.keys.slice(0, from), ...Array.from({ length: 2 * limit }, () => ''), ...list.keys.slice(from)];
    return (page, size) =>
      keys
        .slice((page - 1) * size, page * size)
        .filter((key) => key !== '')
        .map((key) => row(key));
  }),
  lying('a row lost while it is read, and an outage in the passes', (list, random) => {
    const at = pageIn(list, random, 2);
    let ends: number | undefined;
    let lost = false;
    return (page, size) => {
      if (page === at && size === limit && !lost) {
        lost = true;
        list.remove(0);
      }
      if (size !== limit && size > 1 && page > 2) ends ??= performance.now() + 4 * endWaitMs;
      return ends !== undefined && performance.now() < ends && (page - 1) * size >= 2 * limit ? nothing : list.page(page, size);
    };
  }),
  lying(
    'a row lost while it is read, and an outage of two passes',
    (list, random) => {
      let at = pageIn(list, random, 2);
      const passes = new Set<number>();
      return (page, size) => {
        if (page === at && size === limit) {
          at = none;
          list.remove(0);
        }
        if (size !== limit && size > 1) passes.add(size);
        const isOut = passes.size === 1 || passes.size === 2;
        return list.page(page, size, isOut ? list.keys.slice(0, 2 * limit) : list.keys);
      };
    },
    (random) => 3 * limit + Math.floor(random() * limit),
  ),
  lying('no page above a number, and a limit of 1 refused', (list, random) => {
    const cap = pageIn({ ...list, keys: list.keys.slice(limit) } as List, random, 2);
    return (page, size) => (size < 5 ? 'refused' : page > cap ? nothing : list.page(page, size));
  }),
  lying('a row shown by another page instead of its neighbour', (list, random) => {
    const border = pageIn(list, random, 2) * limit;
    return (page, size) => {
      const keys = [...list.keys];
      // A tie in the order that every other page breaks differently: the last row of one page is also the first of the next.
      if (page === border / limit + 1 && size === limit && border < keys.length) keys[border] = keys[border - 1] ?? '';
      return list.page(page, size, keys);
    };
  }),
  lying('a row shown twice in place of its neighbour, once', (list, random) => {
    let wrong = pageIn(list, random);
    return (page, size) => {
      const rows = list.page(page, size);
      if (page !== wrong || size !== limit || rows.length < 2) return rows;
      wrong = none;
      return [rows[0] ?? '', rows[0] ?? '', ...rows.slice(2)];
    };
  }),
  lying('a row that moves to the head while it is read', (list, random) => {
    const at = pageIn(list, random, 2);
    let moved = false;
    return (page, size) => {
      if (page === at && !moved) {
        moved = true;
        const [key] = list.keys.splice(Math.min(list.keys.length - 1, at * limit + 3), 1);
        if (key !== undefined) list.keys.splice(3, 0, key);
      }
      return list.page(page, size);
    };
  }),
  lying(
    'pages that begin where those of the limit would and end before, and small limits refused',
    (list) => (page, size) => (size < 5 ? 'refused' : list.page(page, size).slice(0, 7)),
    (random) => 8 + Math.floor(random() * (limit - 8)),
  ),
  lying(
    'a row less than was asked for on each page, and small limits refused',
    (list) => (page, size) => (size < 5 ? 'refused' : list.page(page, size).slice(0, size - 1)),
  ),
  lying(
    'a first page of two that is empty for good',
    (list) => (page, size) => (page === 1 && size > 1 ? nothing : list.page(page, size)),
    (random) => limit + 1 + Math.floor(random() * limit),
  ),
  {
    ...lying('no paging, and answers that lack some rows', (list) => (_page, _size, request) => {
      const lacking = request <= 4 ? request : none;
      return list.keys.filter((_, index) => index % 5 !== lacking).map((key) => JSON.stringify({ id: key }));
    }),
    from: 'links',
  },

  ...[0, 1, limit - 1, limit, limit + 1, 7 * limit - 1, 7 * limit, 7 * limit + 1].map((rows) =>
    honest(`${rows} rows that stand still`, plainly, () => rows),
  ),
  honest('growing at the tail', (list) => (page, size, request) => {
    if (request % 10 === 0) list.add('tail');
    return list.page(page, size);
  }),
  honest('growing at the head', (list) => (page, size, request) => {
    if (request % 10 === 0) list.add('head');
    return list.page(page, size);
  }),
  honest('losing rows', (list, random) => (page, size, request) => {
    if (request % 20 === 0) list.remove(Math.floor(random() * list.keys.length));
    return list.page(page, size);
  }),
  honest('holding rows twice', (list, random) => {
    for (let twice = 0; twice < 12; twice += 1) {
      list.keys.splice(Math.floor(random() * list.keys.length), 0, list.keys[Math.floor(random() * list.keys.length)] ?? '');
    }
    return (page, size) => list.page(page, size);
  }),
  honest('a smaller cap', (list) => (page, size) => list.page(page, Math.min(size, limit - 7))),
  honest('a limit that is ignored', (list) => (page) => list.page(page, limit - 3)),
  honest('a larger page than was asked for', (list) => (page) => list.page(page, limit + 10)),
  honest('a limit of 1 that is refused', (list) => (page, size) => (size < 5 ? 'refused' : list.page(page, size))),
  honest('no pages of less than fifteen rows', (list) => (page, size) => (size < 15 ? 'refused' : list.page(page, size))),
  honest(
    'a field that is another one each time',
    (list) => (page, size, request) =>
      list.keys.slice((page - 1) * size, page * size).map((key) => row(key, `${key}.${request}@example.org`)),
  ),
  honest(
    'a last page that is repeated',
    (list) => (page, size) => list.page(Math.min(page, Math.max(1, Math.ceil(list.keys.length / size))), size),
  ),
  honest(
    'pages behind the end that answer late and repeat the last',
    (list) => (page, size) => list.page(Math.min(page, Math.ceil(list.keys.length / size)), size),
    () => 7 * limit + 15,
  ),
  {
    ...lying('growing at the head with every request', (list) => (page, size) => {
      list.add('head');
      return list.page(page, size);
    }),
    long: true,
  },
  honest('no paging', (list) => () => list.keys.map((key) => JSON.stringify({ id: key })), some, { from: 'links' }),
];

/** The result of a run over a trap. */
export interface Trapped {
  /** Number of rows that were in the list throughout and are missing from the output. */
  readonly lost: number;
  /** Result of the consistency check, or the code of the error. */
  readonly outcome: string;
  readonly failed: boolean;
  readonly growing: boolean;
  readonly requests: number;
  readonly passes: number;
}

/** Runs a pipeline over a trap, in a folder. A run that never stops is ended. */
export async function runOver(trap: Trap, consistency: 'repair' | 'prove', seed: number, folder: string): Promise<Trapped> {
  const random = seeded(seed * 7_919 + 17);
  const list = new List(trap.rows(random));
  const answering = trap.answers(list, random);
  let requests = 0;
  const from = trap.from ?? 'users';
  const responder: Responder = (facts, next) => {
    if (facts.collection !== from) return next(facts);
    requests += 1;
    if (facts.page < 1) return failure(400, 'no such page');
    const rows = answering(facts.page, facts.limit, requests);
    return rows === 'refused' ? failure(400, 'no such limit') : { kind: 'rows', rows };
  };
  const key = 'a-key-of-traps';
  const service = await startService({ source: nobody, accounts: [{ restApiKey: key }], responders: [responder] });
  const baseDir = await mkdtemp(join(folder, 'run-'));
  const file = join(baseDir, 'rows.ndjson');
  const text = JSON.stringify({
    name: 'trap',
    service: {
      base_url: service.url,
      auth: { rest_api_key: '${KEY}' },
      ...{ limit, threads: 0, end_wait: `${endWaitMs}ms`, max_pages: 2000, retry: { base: '1ms', cap: '1ms', attempts: 2 } },
    },
    ...{ from, consistency, spool: 'off', to: [{ ndjson: { path: file } }] },
  });
  try {
    const report = await runPipeline(await loadPipeline({ text, file: 'trap' }, { env: { KEY: key }, baseDir }));
    const came = new Set((await readFile(file, 'utf8')).split('\n').map((line) => /"(?:uid|id)":"([^"]*)"/.exec(line)?.[1]));
    const { outcome, passes, growing } = report.consistency;
    return { lost: [...list.survivors].filter((each) => !came.has(each)).length, outcome, failed: false, growing, requests, passes };
  } catch (error) {
    if (!(error instanceof LeadstreamError)) throw error;
    return { lost: 0, outcome: error.code, failed: true, growing: false, requests, passes: 0 };
  } finally {
    await rm(baseDir, { recursive: true, force: true });
    await service.close();
  }
}

const nobody = generate({ leads: 0, bridges: 0, links: 0, users: 0, seed: 1 });
