import { catchError, concat, of, switchMap, tap, throwError, type Observable } from 'rxjs';
import type { z } from 'zod';
import type { Collection, RowOf, Served } from '../../collections/index.js';
import { isAddressable, itemAt, SourceError, type Redactor, schema } from '../../core/index.js';
import { discreet, type HttpAnswer, type Target } from '../../http/index.js';
import { ambiguous, ascii, isJson, isRecord, JsonText, bytesAt, readJson, RepeatedName, valueAt, without } from '../../json/index.js';
import type { JsonRecord } from '../../json/index.js';
import { RecordBatch } from '../../vector/index.js';
import { Decoder, readSingle, readList, nameShape, notJson, suspect } from '../decode/decoder.js';
import { faultColumn, type Findings } from '../decode/findings.js';
import { isNotFound, listQuery, isSequential, positionAt, nextIn, noSuchList, targetOf } from './request.js';
import type { OnPath, Position, LinkScope, RequestSpec } from './request.js';
import { scan } from '../decode/scan.js';
import { togetherMost, type Outcome, type ScannedAnswer, type Usual } from './fetching.js';

export interface ListRequest {
  /** The service's number; in a list without page numbers, the ordinal. Without it, neither page nor limit is sent. */
  readonly page?: number;
  /** Where a list without page numbers continues. Default: at its beginning. */
  readonly position?: Position | undefined;
  /** Rows per page; `null` for the service's default. Default: the client's limit. */
  readonly limit?: number | null;
  /** `probe` marks a request that only checks, for the service's log. Default `page`. */
  readonly purpose?: 'page' | 'probe';
  /** Whether a stored answer must not be used. Default false; the client itself stores none. */
  readonly fresh?: boolean;
  /** How many pages to read at most, if they can be read together. Default 1. */
  readonly count?: number;
}

/** A page by columns, and as it is stored. */
export interface ListAnswer {
  readonly batch: RecordBatch;
  /** The bytes received; in a list without page numbers, after the position of the next page. */
  readonly body: Uint8Array;
  /** In a list without page numbers, the positions of this page and the next; no next page only claims an end. */
  readonly position?: Position;
  readonly next?: Position | undefined;
}

/** Reads one collection. Observables are cold: each subscription is one request with its retries, aborted on unsubscribe. */
export interface CollectionReader<T> {
  readonly collection: Collection;
  /** Rows requested per page by default. */
  readonly limit: number;
  /** Reads a page of the list, or some from it on, or the whole of one that is not paged. @throws {SourceError} If all retries failed. */
  request(request: ListRequest): Observable<ListAnswer>;
  /** Returns how many pages to request together by now: fewer if the last ones were large or slow, and one after a failure. */
  together(): number;
  /** Decodes a stored answer. @param counted Whether `findings` count it. Default true. @throws {SourceError} For no list of records. */
  decode(body: Uint8Array, counted?: boolean): ListAnswer;
  /** Finds records. @throws {SourceError} `E_SOURCE_REFUSED`, without a request, for an identifier that cannot be in a path. */
  find(id: string): Observable<readonly T[]>;
  /** What rows had so far that the collection's definition does not mention. */
  readonly findings: Findings;
}

interface ReaderOptions {
  readonly limit: number;
  readonly linkScope: LinkScope;
  readonly read: <T>(spec: RequestSpec, decode: (label: string, answer: ScannedAnswer) => T) => Observable<T>;
  readonly together?: ((targets: readonly Target[], usual: Usual) => Observable<readonly Outcome[]>) | undefined;
  readonly redact: Redactor;
  readonly onPath: OnPath;
}

export function createReader<C extends Collection>(
  collection: C,
  reveal: readonly string[],
  { limit, linkScope, read, together, redact, onPath }: ReaderOptions,
): CollectionReader<RowOf<C>> {
  const { name, served } = collection;
  const decoder = new Decoder(collection, reveal, redact);

  // Where rows are declared to be, they are found in whole answers only. With more than 16, hardly less is done for each.
  const isWhole = !together || (served && (served.rows.length > 0 || served.nested.size > 0));
  const mostTogether = isWhole ? 1 : Math.max(1, Math.min(16, Math.floor(500 / limit)));
  let [pace, names] = [1, ''];
  /** One quick answer among slow ones is no reason to wait for many. */
  const notePace = (ms: number, bytes = 0) => {
    const most = Math.floor(Math.min(mostTogether, togetherMost.ms / ms, togetherMost.bytes / bytes));
    pace = Math.max(1, Math.min(pace + 1, most));
  };

  const reading: typeof read = (asked, decode) =>
    read(asked, (label, answer) => {
      const repeated = (what: string) => suspect(label, answer, what);
      return unlessRepeated(() => decode(label, answer), repeated);
    });

  function numbered(path: string, { page, limit: size = limit, purpose, count = 1 }: ListRequest): Observable<ListAnswer> {
    const specOf = (number: number | undefined) => {
      return { collection, path, page: number, query: listQuery(collection, number, size, limit), purpose };
    };
    const decode = (label: string, answer: ScannedAnswer) => {
      names = answer.scanned?.names.join('\0') ?? '';
      return { batch: batchOf(label, answer, purpose !== 'probe'), body: answer.body };
    };
    const begun = performance.now();
    const single$ = reading(specOf(page), decode).pipe(
      tap({ next: ({ body }) => notePace(performance.now() - begun, body.length), error: () => notePace(Infinity) }),
    );
    if (page === undefined || size === null || count === 1 || !together) return single$;
    const specs = Array.from({ length: count }, (_, index) => specOf(page + index));
    const targets = specs.map((spec) => targetOf(linkScope.baseUrl, spec));
    return together(targets, { rows: size, names }).pipe(
      switchMap((outcomes) => {
        if (outcomes.length === 0) return single$;
        const bytes = outcomes.reduce((sum, outcome) => sum + ('answer' in outcome ? outcome.answer.body.length : Infinity), 0);
        notePace((performance.now() - begun) / outcomes.length, bytes / outcomes.length);
        return concat(
          ...outcomes.map((first, index) => reading({ ...itemAt(specs, index), target: itemAt(targets, index), first }, decode)),
        );
      }),
    );
  }

  function requestAt(path: string, request: ListRequest): Observable<ListAnswer> {
    if (!isSequential(served)) return numbered(path, request);
    const { page, position: asked, limit: size, purpose } = request;
    const counted = purpose !== 'probe';
    const rows = size ?? limit;
    const position = asked ?? positionAt(served, path, rows);
    const { query: written } = position;
    return reading({ collection, path: position.path, page: page ?? 1, written, purpose }, (label, answer) => {
      const batch = batchOf(label, answer, counted);
      const next = nextIn(answer, batch, { served, label, position, limit: rows, linkScope });
      return { batch, position, next, body: packed({ position, next }, answer.body) };
    });
  }

  /** Reads answers of the usual form by columns; others, also those to refuse, by record. */
  function batchOf(label: string, answer: ScannedAnswer, counted: boolean): RecordBatch {
    const { status } = answer;
    const isNone = status === 404 && (served?.ends.includes('not_found') ?? false);
    if (status === 404 && !isNone) throw notFound(label, noSuchList(collection));
    const body = !served ? answer.body : isNone ? undefined : listIn(label, answer, served);
    if (body === undefined) return RecordBatch.empty;
    const list = body === answer.body ? answer : { status, body };
    if (served && served.nested.size > 0) return decoder.decode(flattened(readList(label, list), served), counted);
    const scanned = list.scanned === undefined ? scan(body) : list.scanned;
    return (scanned ? decoder.decodeColumns(scanned, counted) : undefined) ?? decoder.decode(readList(label, list), counted);
  }

  function found(label: string, answer: HttpAnswer): readonly RowOf<C>[] {
    if (answer.status === 404) throw notFound(label, 'no such record');
    const records = readSingle(label, answer);
    const batch = decoder.decode(served ? flattened(records, served) : records);
    if (batch.columns.has(faultColumn)) throw suspect(label, answer, 'a field occurs twice in a record, with different values');
    // A decoder returns its collection's columns, but the type system cannot follow.
    return decoder.findings.named(batch).rows() as readonly RowOf<C>[];
  }

  return {
    collection,
    limit,
    findings: decoder.findings,
    together: () => pace,
    decode: (body, counted = true) => {
      try {
        const { answer, ...known } = isSequential(served) ? opened(body) : { answer: body };
        return { batch: batchOf(name, { status: 200, body: answer }, counted), body, ...known };
      } catch (error) {
        throw discreet(error, redact);
      }
    },
    request: (asked) => onPath(collection, (path) => requestAt(path, asked)),
    find: (id) => {
      if (!isAddressable(id)) {
        const message = `${name}: an identifier must not be empty, only dots or invalid Unicode`;
        return throwError(() => new SourceError('E_SOURCE_REFUSED', 'permanent', message));
      }
      return onPath(collection, (path) => read({ collection, path, id }, found)).pipe(
        catchError((error: unknown) => (isNotFound(error) ? of([]) : throwError(() => error))),
      );
    },
  };
}

/** @param repeated Returns what to use instead, or the failure. */
function unlessRepeated<T>(read: () => T, repeated: (what: string) => T | SourceError): T {
  try {
    return read();
  } catch (error) {
    const instead = error instanceof RepeatedName ? repeated(error.message) : undefined;
    if (instead === undefined || instead instanceof SourceError) throw instead ?? error;
    return instead;
  }
}

function notFound(label: string, what: string): SourceError {
  return new SourceError('E_SOURCE_REFUSED', 'permanent', `${label}: HTTP 404: ${what}`, { status: 404 });
}

/** Returns the list in an answer of a custom collection; `undefined` for one that is declared to mean that there are no rows. */
function listIn(label: string, answer: HttpAnswer, { rows, ends }: Served): Uint8Array | undefined {
  const { body: sent } = answer;
  // A byte order mark is not part of the JSON.
  const body = sent[0] === 0xef && sent[1] === 0xbb && sent[2] === 0xbf ? sent.subarray(3) : sent;
  if (body.length === 0 && ends.includes('no_content')) return undefined;
  if (body.length < 64) {
    const short = Buffer.from(body).toString('latin1').replaceAll(/\s/g, '');
    if ((short === '{}' && ends.includes('empty_object')) || (short === 'null' && ends.includes('null'))) return undefined;
  }
  if (rows.length === 0) return body;
  // A truncated answer may have the whole list, but lack the sign of more.
  if (!isJson(body)) throw notJson(label, answer);
  const place = bytesAt(body, rows);
  const isNothing = place === undefined || valueAt(place, []) === null;
  const isEmpty = isNothing || (place[0] === ascii.openList && /^\[\s*\]$/.test(Buffer.from(place).toString('latin1', 0, 64)));
  // Some services have codes of their own, like 20000 for success: with an empty list, only those of HTTP are errors.
  if (isEmpty) refuseError(label, answer, body, rows, isNothing ? Infinity : 599);
  if (isNothing && ends.includes('no_rows')) return undefined;
  if (place?.[0] === ascii.openList) return place;
  const found = readJson(place ?? body);
  const shape = found === undefined || Array.isArray(found) ? '' : ` but ${nameShape(found as Exclude<typeof found, readonly unknown[]>)}`;
  const message = `there is no list at /${rows.join('/')}${place === undefined ? `; the response is ${shape.slice(5)}` : shape}`;
  throw new SourceError('E_SOURCE_ROWS', 'suspect', `${label}: HTTP ${answer.status} with ${answer.body.length} bytes: ${message}`);
}

/** Refuses an answer without rows that holds an error, and so says nothing about the list. */
function refuseError(label: string, answer: HttpAnswer, body: Uint8Array, rows: readonly string[], mostCode: number): void {
  for (const [depth] of rows.entries()) {
    const place = bytesAt(body, rows.slice(0, depth));
    const found = place && readJson(place);
    if (!isRecord(found)) continue;
    for (const [name, value] of Object.entries(found)) {
      const text = value instanceof JsonText ? value.text : String(value ?? '');
      const isError = /^(?:errors?|fault|exception)$/i.test(name) && !/^(?:null|false|0||\[\]|\{\})$/.test(text);
      const isCode = /^(?:code|status)$/i.test(name) && Number(text) >= 400 && Number(text) <= mostCode;
      if (isError || isCode) throw suspect(label, answer, `no rows, but ${name}`);
    }
  }
}

/** Copies nested values to their own names, and removes them from their container unless it is declared as a whole. */
function flattened(records: readonly JsonRecord[], { nested, opened }: Served): readonly JsonRecord[] {
  if (nested.size === 0) return records;
  return records.map((record) => {
    const flat = Object.assign(Object.create(null) as Record<string, JsonRecord[string]>, record);
    const several = [...(record[ambiguous] ?? [])];
    const clear = <T>(name: string, take: () => T) => unlessRepeated<T | null>(take, () => (several.push(name), null));
    for (const [name, [outer = '', ...inner]] of nested) {
      const container = record[outer];
      // A member whose name equals the pointer.
      if (record[name] !== undefined) flat[`/${name}`] = record[name];
      delete flat[name];
      if (record[ambiguous]?.includes(outer)) several.push(name);
      const value = clear(name, () => (container instanceof JsonText ? valueAt(Buffer.from(container.text), inner, true) : undefined));
      if (value !== undefined) flat[name] = value;
      if (opened.has(outer)) clear(outer, () => takeOut(flat, outer, inner));
    }
    return several.length === 0 ? flat : Object.assign(flat, { [ambiguous]: several });
  });
}

function takeOut(flat: Record<string, JsonRecord[string]>, outer: string, inner: readonly string[]): void {
  const rest = flat[outer];
  if (!(rest instanceof JsonText)) return;
  const text = without(rest.text, inner);
  if (text === undefined) delete flat[outer];
  else if (text !== rest.text) flat[outer] = new JsonText(text);
}

const head = schema((z) => {
  const position = z.object({ path: z.string(), query: z.string(), departs: z.string().optional() });
  return z.object({ position, next: position.nullable() });
});

type Known = { readonly position: Position; readonly next: Position | undefined };

/** Packs a page without a number for storage: the positions of it and the next page, on a line of JSON before the answer. */
function packed({ position, next }: Known, answer: Uint8Array): Uint8Array {
  const line = { position, next: next ?? null } satisfies z.input<ReturnType<typeof head>>;
  return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), answer]);
}

/** @throws {SourceError} `E_SOURCE_ANSWER` for bytes that were not packed this way. */
function opened(bytes: Uint8Array): Known & { readonly answer: Uint8Array } {
  const end = bytes.indexOf(lineFeed);
  try {
    const { position, next } = head().parse(JSON.parse(Buffer.from(bytes.subarray(0, Math.max(0, end))).toString('utf8')));
    return { position, next: next ?? undefined, answer: bytes.subarray(end + 1) };
  } catch {
    throw new SourceError('E_SOURCE_ANSWER', 'permanent', 'a stored page is damaged');
  }
}

const lineFeed = 0x0a;
