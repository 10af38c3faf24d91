import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { collections, type Collection } from '../../src/collections/index.js';
import { bodyOf, failure, json, faultGrammar, faultResponder } from '../../src/service/answer.js';
import type { Answer, RequestFacts, Responder, ServedTable, FaultGrammar } from '../../src/service/answer.js';
import { startService, type DataSource, type RunningService, type StartOptions } from '../../src/service/index.js';
import { seeded } from './seeded.js';

/** Ways in which another service could read the same documentation, and the share of rows that are odd. */
export interface Quirks {
  readonly 'first-page'?: number;
  readonly 'default-limit'?: number;
  /** Most rows of a page. */
  readonly cap?: number;
  readonly 'refuse-over-cap'?: boolean;
  /** Pages past the end repeat the last one. */
  readonly 'repeat-last'?: boolean;
  readonly 'ignore-page'?: boolean;
  /** A page that is empty, always or the first time that it is requested with a limit. */
  readonly 'empty-page'?: number | `${number}:once`;
  readonly 'paged-links'?: boolean;
  readonly 'bare-record'?: boolean;
  readonly 'not-found'?: '404' | 'object' | 'null' | 'nothing';
  readonly 'areacode-path'?: 'singular' | 'plural';
  /** So many neighbours change places from request to request. */
  readonly 'unstable-order'?: number;
  readonly 'missing-fields'?: number;
  readonly 'unknown-fields'?: number;
  readonly 'non-strings'?: number;
  readonly 'huge-values'?: number;
  readonly 'proto-key'?: number;
}

/** How the list of leads changes: once per so many reads of it, at most so often. */
interface DriftOptions {
  readonly every: number;
  readonly changes?: readonly ('insert-head' | 'insert-tail' | 'delete')[];
  readonly most?: number;
}

/** A service that misbehaves in these ways; `faults` may be those of `grammarOf`, too. */
export interface Misbehaviour extends StartOptions {
  readonly quirks?: Quirks | undefined;
  readonly drift?: DriftOptions | undefined;
  /** Determines what is random. */
  readonly seed?: number;
}

/** Starts a service that misbehaves. */
export async function startMisbehaving(options: Misbehaviour): Promise<RunningService> {
  const { source: still, quirks, drift, faults = [], responders = [], seed = 1, ...others } = options;
  const drifting = drift && new Drifting(still.leads, drift, seed);
  const source: DataSource = drifting ? { ...still, leads: drifting } : still;
  return startService({
    ...others,
    source,
    responders: [
      ...responders,
      ...faults.map((fault, place) => faultResponder(fault, grammarOf(seed + place))),
      ...(drifting ? [drifting.responder] : []),
      ...(quirks ? [answers(quirks), lists(quirks, source, seed)] : []),
    ],
  });
}

/** Leads that come and go. */
class Drifting implements ServedTable {
  readonly #rows: string[];
  #reads = 0;
  #made = 0;
  readonly #random: () => number;

  constructor(
    table: ServedTable,
    private readonly options: DriftOptions,
    seed: number,
  ) {
    this.#rows = Array.from({ length: table.count }, (_, index) => table.row(index));
    this.#random = seeded(seed);
  }

  get count(): number {
    return this.#rows.length;
  }

  row(index: number): string {
    return this.#rows[index] ?? '';
  }

  find(id: string): readonly number[] {
    return this.#rows.flatMap((row, index) => (leadId(row) === id ? [index] : []));
  }

  /** Changes the list before it answers a read. */
  readonly responder: Responder = (facts, next) => {
    const { every, most = Infinity } = this.options;
    if (facts.collection === 'leads' && facts.id === null) {
      if (this.#reads > 0 && this.#reads % every === 0 && this.#made < most) this.#change();
      this.#reads += 1;
    }
    return next(facts);
  };

  #change(): void {
    const { changes = ['insert-head', 'insert-tail', 'delete'] } = this.options;
    const change = changes[Math.floor(this.#random() * changes.length)];
    const at = Math.floor(this.#random() * this.count);
    const added = this.row(at).replace(/"lead_id":"\d+"/, `"lead_id":"${9_000_000_000 + this.#made}"`);
    this.#made += 1;
    if (change === 'insert-head') this.#rows.unshift(added);
    else if (change === 'insert-tail') this.#rows.push(added);
    else this.#rows.splice(at, 1);
  }
}

function leadId(row: string): string {
  return /"lead_id":"(\d+)"/.exec(row)?.[1] ?? '';
}

const nothing = { 404: failure(404, 'no such record'), object: raw('{}'), null: raw('null'), nothing: raw('') };

/** Answers single records, and paths, as quirks say. */
function answers({ 'areacode-path': path, 'not-found': notFound, 'bare-record': bare }: Quirks): Responder {
  return async (facts, next) => {
    const isPlural = facts.path.startsWith('/api/areacodes');
    if (facts.collection === 'areacodes' && path !== undefined && isPlural !== (path === 'plural')) return failure(404, 'no such path');
    const answer = await next(facts);
    if (facts.id === null || answer.kind !== 'rows') return answer;
    const rows = [...answer.rows];
    if (rows.length === 0 && notFound !== undefined) return nothing[notFound];
    return rows.length === 1 && bare ? raw(rows.join('')) : { ...answer, rows };
  };
}

/** Answers lists as quirks say, and makes rows odd. */
function lists(quirks: Quirks, source: DataSource, seed: number): Responder {
  const { cap = 500, 'first-page': first = 1, 'empty-page': empty, 'unstable-order': group = 1 } = quirks;
  const seen = new Set<string>();
  const isEmpty = ({ page, limit, collection }: RequestFacts): boolean => {
    if (page !== Number.parseInt(String(empty))) return false;
    const isFirst = !seen.has(`${collection} ${limit}`);
    seen.add(`${collection} ${limit}`);
    return isFirst || typeof empty === 'number';
  };
  const odd = (answer: Answer, { collection }: RequestFacts): Answer =>
    answer.kind === 'rows' ? { ...answer, rows: Array.from(answer.rows, (row) => oddRow(row, collection, quirks, seed)) } : answer;

  return async (facts, next) => {
    const { id, collection, query, sequence } = facts;
    const page = query['page'] === undefined ? first : facts.page;
    const limit = query['limit'] === undefined ? (quirks['default-limit'] ?? 30) : facts.limit;
    if (id !== null || (collection === 'links' && !quirks['paged-links'])) return odd(await next(facts), facts);
    if (!(page >= first) || !(limit >= 1) || (limit > cap && quirks['refuse-over-cap'])) return failure(400, 'no such page');
    if (isEmpty(facts)) return { kind: 'rows', rows: [] };
    const size = Math.min(limit, cap);
    const table = source[collection];
    const count = table?.count ?? 0;
    const last = Math.max(0, Math.ceil(count / size) - 1);
    const number = quirks['ignore-page'] ? 0 : quirks['repeat-last'] ? Math.min(page - first, last) : page - first;
    const rows = Array.from({ length: Math.max(0, Math.min(size, count - number * size)) }, (_, index) => {
      return table?.row(placeOf(number * size + index, group, count, seed + sequence)) ?? '';
    });
    return odd({ kind: 'rows', rows }, facts);
  };
}

/** Where a row is when the neighbours of a group change places. */
function placeOf(index: number, group: number, count: number, seed: number): number {
  const start = index - (index % group);
  const random = seeded(seed * 7919 + start);
  const order = Array.from({ length: Math.min(group, count - start) }, (_, place) => ({ place, by: random() }));
  order.sort((a, b) => a.by - b.by);
  return start + (order[index - start]?.place ?? 0);
}

/** Makes a share of the rows odd; which ones, the seed and the row decide, so that it looks the same whenever it is read. */
function oddRow(row: string, collection: string, quirks: Quirks, seed: number): string {
  const { key = [] } = Object.values<Collection>(collections).find(({ name }) => name === collection) ?? {};
  const random = seeded(hashOf(`${seed} ${row}`));
  const isOdd = (share = 0) => random() < share;
  const record = JSON.parse(row) as Record<string, unknown>;
  const free = Object.keys(record).filter((field) => !key.includes(field));
  const some = () => free[Math.floor(random() * free.length)] ?? '';
  if (isOdd(quirks['missing-fields'])) delete record[some()];
  if (isOdd(quirks['non-strings'])) record[some()] = [42, true, null, ['a', 1], { a: '1' }][Math.floor(random() * 5)];
  if (isOdd(quirks['unknown-fields'])) record['shoe size'] = '42';
  if (isOdd(quirks['huge-values'])) record[free.at(-1) ?? ''] = 'x'.repeat(1 << 20);
  const text = JSON.stringify(record);
  return isOdd(quirks['proto-key']) ? `{"__proto__":{"polluted":"yes"},${text.slice(1)}` : text;
}

function hashOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32LE();
}

function raw(body: string | Uint8Array, type: string = json['content-type'], headers: Readonly<Record<string, string>> = {}): Answer {
  return { kind: 'raw', status: 200, headers: { 'content-type': type, ...headers }, body };
}

/** The faults of the service, and others: bodies that are no page, connections that end or never do, and more conditions. */
function grammarOf(seed: number): FaultGrammar {
  return {
    kinds: {
      ...faultGrammar.kinds,
      hang: () => () => ({ kind: 'wire', status: 0, send: () => {} }),
      stall: () => onBody((body) => streamed(body.length, [half(body)], false)),
      drip: (rate) => onBody((body) => streamed(body.length, slowly(body, Number(rate)))),
      cut: (by) => onBody((body) => cutBy(by, body)),
      html: () => () => raw('<!doctype html><title>Maintenance</title><p>Back soon.</p>', 'text/html'),
      'empty-body': () => () => raw(''),
      null: () => () => raw('null'),
      'non-objects': () => () => raw('["a",1,null,["b"]]'),
      'empty-list': () => () => raw('[]'),
      gzip: () => onBody((body) => raw(gzipSync(body), undefined, { 'content-encoding': 'gzip' })),
      'gzip-bomb': (megabytes) => () => raw(bomb(Number(megabytes)), undefined, { 'content-encoding': 'gzip' }),
      redirect: (origin) => () => ({
        kind: 'wire',
        status: 302,
        send: (response) => response.writeHead(302, { location: `${origin}${response.req.url ?? ''}` }).end(),
      }),
    },
    terms: {
      ...faultGrammar.terms,
      purpose: (wanted) => (facts) => facts.purpose === wanted,
      requests: (range) => {
        const of = faultGrammar.terms['page']?.(range);
        return (facts) => of?.({ ...facts, id: null, page: facts.sequence }) === true;
      },
      rate: (share) => {
        const times = new Map<string, number>();
        return ({ collection, id, page, limit }) => {
          const request = JSON.stringify([collection, id, page, limit]);
          const time = (times.get(request) ?? 0) + 1;
          times.set(request, time);
          return hashOf(`${seed} ${time} ${request}`) < Number(share) * 2 ** 32;
        };
      },
    },
  };
}

/** Sends the body of a page in another way; a refusal passes unchanged. */
function onBody(send: (body: Buffer) => Answer): Responder {
  return async (facts, next) => {
    const answer = await next(facts);
    return answer.kind === 'rows' ? send(bodyOf(answer)) : answer;
  };
}

/** Sends pieces of a body of this length, and then ends, or says nothing more. */
function streamed(length: number, pieces: Iterable<Buffer> | AsyncIterable<Buffer>, end = true): Answer {
  return {
    kind: 'wire',
    status: 200,
    send: (response) => {
      response.writeHead(200, { ...json, 'content-length': length });
      Readable.from(pieces).pipe(response, { end });
    },
  };
}

/** Sends half of a body: after its length, in chunks, or, with `close`, so that HTTP does not show that something is missing. */
function cutBy(by: string, body: Buffer): Answer {
  return {
    kind: 'wire',
    status: 200,
    send: (response) => {
      if (by === 'close') response.useChunkedEncodingByDefault = false;
      response.writeHead(200, by === 'length' ? { ...json, 'content-length': body.length } : json).flushHeaders();
      if (by === 'close') response.end(half(body));
      else response.write(half(body), () => response.destroy());
    },
  };
}

async function* slowly(body: Buffer, rate: number): AsyncGenerator<Buffer> {
  const step = Math.max(1, Math.floor(rate / 20));
  for (let sent = 0; sent < body.length; sent += step) {
    yield body.subarray(sent, sent + step);
    await wait((1000 * step) / rate);
  }
}

/** An empty list with megabytes of blanks inside, as consecutive gzip members. */
function bomb(megabytes: number): Buffer {
  const blank = gzipSync(Buffer.alloc(1 << 20, ' '));
  return Buffer.concat([gzipSync('['), ...Array<Buffer>(megabytes).fill(blank), gzipSync(']')]);
}

function half(body: Buffer): Buffer {
  return body.subarray(0, Math.ceil(body.length / 2));
}
