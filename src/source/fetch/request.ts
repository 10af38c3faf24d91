import { catchError, defer, tap, throwError, type Observable } from 'rxjs';
import type { Collection, Paging, Served } from '../../collections/index.js';
import { SourceError } from '../../core/index.js';
import { JsonText, segmentsOf, valueAt } from '../../json/index.js';
import { type HttpAnswer, credentialParameters, type RequestDescription, type Target } from '../../http/index.js';
import type { RecordBatch } from '../../vector/index.js';
import type { Outcome } from './fetching.js';

interface Asking {
  readonly served: Served;
  readonly label: string;
  readonly position: Position;
  readonly limit: number;
  readonly linkScope: LinkScope;
}

/** Returns where the next page is. @throws {SourceError} If the answer does not say it readably, or leads elsewhere. */
export function nextIn(answer: HttpAnswer, batch: RecordBatch, asking: Asking): Position | undefined {
  const { served, label, position, limit } = asking;
  const { paging, ends } = served;
  if (batch.length === 0 && ends.includes('empty_page')) return undefined;
  if (paging.scheme === 'link') {
    const link = paging.next === undefined ? nextLinkIn(answer.link ?? '', label) : textAt(answer, paging.next, label, 'link');
    return link === undefined ? undefined : followed(link, paging, asking);
  }
  if (paging.scheme !== 'cursor') return undefined;
  const more = paging.more === undefined ? undefined : hasMore(answer, batch, paging.more, label);
  if (more === false) return undefined;
  const cursor = paging.next === undefined ? lastOf(batch, paging.last) : textAt(answer, paging.next, label, 'cursor');
  if (cursor !== undefined) return positionAt(served, position.path, limit, cursor);
  if (more === true) throw noCursor(label, 'says that there is more, but has no cursor for it');
  if (paging.last !== undefined && batch.length > 0)
    throw noCursor(label, `the last row has no ${paging.last}, after which the list continues`);
  return undefined;
}

function noCursor(label: string, what: string): SourceError {
  return new SourceError('E_SOURCE_CURSOR', 'suspect', `${label}: ${what}`);
}

/** Returns the first link to the `next` page in a `Link` header (RFC 8288), as written. @throws {SourceError} `E_SOURCE_LINK`. */
export function nextLinkIn(header: string, label: string): string | undefined {
  const links: { readonly target: string; readonly parameters: Map<string, string> }[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: target, 2: name = '', 3: quoted, 4: closing, 5: plain = '' } of header.matchAll(linkPart)) {
    const parameters = target === undefined ? links.at(-1)?.parameters : new Map<string, string>();
    if (parameters === undefined || closing === '') break;
    if (target !== undefined) links.push({ target, parameters });
    // The first of repeated parameters counts.
    else if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain);
    end = index + whole.length;
  }
  // A link with an anchor is not about the answer.
  const own = links.filter(({ parameters }) => !parameters.has('anchor'));
  // Some write it in single quotes.
  const relations = own.map(({ parameters }) => parameters.get('rel')?.toLowerCase().replaceAll("'", '').trim().split(/\s+/) ?? ['']);
  const next = own[relations.findIndex((names) => names.includes('next'))];
  // Non-ASCII bytes are not allowed there, but some services send them.
  if (next) return next.target.trim().replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  const isWhole = /^[\s,]*$/.test(header.slice(end)) && relations.every(([name]) => name !== '');
  if (!isWhole) throw new SourceError('E_SOURCE_LINK', 'suspect', `${label}: the Link header cannot be read, or a link in it has no rel`);
  return undefined;
}

/** Matches a target; or a parameter with its quoted value and the closing quote, or another value. */
const linkPart = /[\s,]*<([^>]*)>|\s*;\s*([^\s=;,]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)("?)|([^;,]*)))?/gy;

/** Returns a text or number in an answer; `undefined` for `null`, `false`, an empty text, and a missing value. */
function textAt({ body }: HttpAnswer, pointer: string, label: string, what: 'link' | 'cursor'): string | undefined {
  const value = valueAt(body, segmentsOf(pointer)) ?? '';
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (value.text === 'false') return undefined;
  if (what === 'cursor' && /^[1-9]/.test(value.text)) return value.text;
  const code = what === 'link' ? 'E_SOURCE_LINK' : 'E_SOURCE_CURSOR';
  throw new SourceError(code, 'suspect', `${label}: the value at ${pointer} is not a ${what}`);
}

function hasMore({ body }: HttpAnswer, batch: RecordBatch, pointer: string, label: string): boolean {
  const value = valueAt(body, segmentsOf(pointer));
  const text = value instanceof JsonText ? value.text : value;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0' || (value === undefined && batch.length === 0)) return false;
  throw new SourceError('E_SOURCE_ANSWER', 'suspect', `${label}: there is neither true nor false at ${pointer}`);
}

function lastOf(batch: RecordBatch, field = ''): string | undefined {
  const value = batch.length === 0 ? undefined : batch.columns.get(field)?.value(batch.length - 1);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What a link is checked against: the service's origin and path, and values that no link must pass on. */
export interface LinkScope {
  readonly baseUrl: string;
  readonly secrets: readonly string[];
}

/** Resolves a link against its page (RFC 3986), only below the base URL, and removes credentials: every request has our own. */
function followed(link: string, paging: Paging & { readonly scheme: 'link' }, { served, label, position, linkScope }: Asking): Position {
  const { origin, pathname } = new URL(linkScope.baseUrl);
  const base = pathname.replace(/\/+$/, '');
  const page = `${origin}${base}${position.path}?${position.query}`;
  if (!URL.canParse(link, page)) throw refused(label, 'is not a valid address');
  const next = new URL(link, page);
  if (next.origin !== origin) throw refused(label, `points to ${next.origin === 'null' ? next.protocol : next.origin}, another origin`);
  if (!next.pathname.startsWith(`${base}/`)) throw refused(label, `points outside the path of base_url, ${base}/`);
  // Others stay as written: a service may understand only its own spelling.
  const pairs = next.search.slice(1).split('&');
  const query = pairs.filter((pair) => !isCredential(pair, linkScope.secrets)).join('&');
  const path = next.pathname.slice(base.length);
  const { keep_query: keeps } = paging;
  const lost = keeps === false ? [] : departures(served.query, query);
  const [first] = lost;
  if (keeps !== true)
    return { path, query, ...(first && { departs: `${first.isMissing ? 'lacks' : 'changes'} '${first.name}' of query` }) };
  const changed = lost.find(({ isMissing }) => !isMissing);
  if (changed) throw refused(label, `changes '${changed.name}' of query`);
  const missing = lost.map(({ name, value }) => new URLSearchParams({ [name]: value }));
  return { path, query: [...(query === '' ? [] : [query]), ...missing].join('&') };
}

/** Returns the parameters that a query lacks or changes; some services number the items of a list, as in `tags[0]`. */
function departures(declared: Served['query'], query: string) {
  const given = [...new URLSearchParams(query)];
  return Object.entries(declared).flatMap(([name, value]) => {
    const values = given.filter(([other]) => other === name || other.replace(/\[\d+\]$/, '[]') === name);
    const isMissing = values.length === 0;
    return isMissing || values.some(([, other]) => other !== value) ? [{ name, value, isMissing }] : [];
  });
}

function isCredential(pair: string, secrets: readonly string[]): boolean {
  const [name = '', value = ''] = [...new URLSearchParams(pair)].flat();
  const isSecret = (text: string) => secrets.some((secret) => text.includes(secret));
  return credentialParameters.includes(name.toLowerCase()) || [pair, name, value].some(isSecret);
}

function refused(label: string, what: string): SourceError {
  return new SourceError('E_SOURCE_LINK', 'permanent', `${label}: the link to the next page ${what}; it was not followed`);
}

/** Where a list without page numbers continues: the next request, below the base URL and without credentials. */
export interface Position {
  readonly path: string;
  /** As text, because services may accept no other spelling. */
  readonly query: string;
  /** How the link departs from the declared query, so that it may lead to other rows. */
  readonly departs?: string | undefined;
}

export function isSequential(served: Served | undefined): served is Served {
  return served?.paging.scheme === 'cursor' || served?.paging.scheme === 'link';
}

/** Returns whether the pages of a list can be requested by number, or by offset. */
export function hasPageNumbers({ paged, served }: Collection): boolean {
  return paged && !isSequential(served);
}

/** Returns the position where a list begins, or with a cursor, where it continues. */
export function positionAt({ paging, query }: Served, path: string, limit: number, cursor?: string): Position {
  const size = limitIn(paging);
  const parameters = Object.entries(query);
  if (size !== 'none') parameters.push([size, String(limit)]);
  if (cursor !== undefined && paging.scheme === 'cursor') parameters.push([paging.param, cursor]);
  return { path, query: new URLSearchParams(parameters).toString() };
}

function limitIn(paging: Paging): string {
  return ('limit' in paging ? paging.limit : undefined) ?? 'limit';
}

/** Returns the parameters of a page (`null`: of the service's default size), or without a number those of every request. */
export function listQuery(
  { served }: Collection,
  page: number | undefined,
  size: number | null,
  usual: number,
): Readonly<Record<string, string>> {
  const { paging } = served ?? {};
  if (page === undefined || paging?.scheme === 'none') return served?.query ?? {};
  if (!paging) return { page: String(page), ...(size === null ? {} : { limit: String(size) }) };
  const rows = size ?? usual;
  const limit = limitIn(paging);
  const param = ('param' in paging ? paging.param : undefined) ?? paging.scheme;
  const place = paging.scheme === 'offset' ? (page - 1) * rows : page;
  return { ...served?.query, [param]: String(place), ...(limit === 'none' ? {} : { [limit]: String(rows) }) };
}

export type OnPath = <T>(collection: Collection, attempt: (path: string) => Observable<T>) => Observable<T>;

/** Tries the possible paths of a collection in order of preference, and caches the one that exists. */
export function knownPaths(): OnPath {
  const paths = new Map<string, string>();
  return (collection, attempt) =>
    defer(() => {
      const known = paths.get(collection.name);
      const candidates = known === undefined ? pathsOf(collection) : [known];
      return candidates
        .map((path) => attempt(path).pipe(tap({ complete: () => void paths.set(collection.name, path) })))
        .reduce((tried$, other$) => tried$.pipe(catchError((error: unknown) => (isNotFound(error) ? other$ : throwError(() => error)))));
    });
}

function pathsOf({ paths }: Collection): readonly string[] {
  return paths.map((path) => (path.startsWith('/') ? path : `/api/${path}`));
}

export function noSuchList(collection: Collection): string {
  return `no such collection under this base URL; the base URL is everything before ${pathsOf(collection)[0]}`;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof SourceError && error.status === 404;
}

export interface RequestSpec {
  readonly collection: Collection;
  readonly path: string;
  /** Identifier of a record, sent but never shown in messages and events. */
  readonly id?: string;
  readonly page?: number | undefined;
  readonly query?: Readonly<Record<string, string>>;
  /** The query of a list without page numbers, instead of `query`; never shown in messages and events. */
  readonly written?: string;
  readonly purpose?: 'page' | 'probe' | undefined;
  /** Its target, from `query`, if that was made before: writing a query takes as long as reading some rows. */
  readonly target?: Target;
  /** What it already brought. */
  readonly first?: Outcome | undefined;
}

export function targetOf(baseUrl: string, spec: RequestSpec): Target {
  const { path, id, page, query, written, purpose } = spec;
  const label = `${shown(baseUrl, spec)}${page === undefined ? '' : ` page ${page}`}`;
  const whole = id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
  return { path: whole, query: written ?? new URLSearchParams(query).toString(), purpose, label };
}

export function factsOf(baseUrl: string, spec: RequestSpec): RequestDescription {
  const { collection, id, page, query = {}, purpose = 'page', target } = spec;
  const search = target?.query ?? new URLSearchParams(query).toString();
  const url = `${shown(baseUrl, spec)}${search === '' ? '' : `?${search}`}`;
  return { url, collection: collection.name, page, purpose: id === undefined ? purpose : 'find' };
}

function shown(baseUrl: string, { path, id }: RequestSpec): string {
  return `${baseUrl.replace(/\/+$/, '')}${path}${id === undefined ? '' : '/{id}'}`;
}
