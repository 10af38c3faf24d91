import { catchError, defer, tap, throwError, type Observable } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { SourceError } from '../../core/index.js';
import type { RequestDescription, Target } from '../../http/index.js';

/** Runs a request at the path of a collection. */
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

/** Returns the paths after the base URL. */
function pathsOf({ paths }: Collection): readonly string[] {
  return paths.map((path) => (path.startsWith('/') ? path : `/api/${path}`));
}

/** Describes that there is no list at a path, and what the base URL should have been. */
export function noSuchList(collection: Collection, baseUrl: string): string {
  const [path = '/'] = pathsOf(collection);
  const first = /^\/[^/?]+/.exec(path)?.[0];
  const isTwice = first !== undefined && new URL(baseUrl).pathname.replace(/\/+$/, '').endsWith(first);
  if (isTwice)
    return `no such collection; the base URL ends with ${first}, and the path of the collection begins with it; remove it from the base URL`;
  return `no such collection under this base URL; the base URL is everything before ${path}`;
}

/** Returns whether the service reported that something does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof SourceError && error.status === 404;
}

/** A request to a collection. */
export interface Asked {
  readonly collection: Collection;
  /** Path of the collection, below the base URL. */
  readonly path: string;
  /** Identifier of a record. It is sent, but never shown in messages and events. */
  readonly id?: string;
  /** Number of the page, for messages and events. */
  readonly page?: number | undefined;
  readonly query?: Readonly<Record<string, string>>;
  /** The parameters of a list without page numbers, instead of `query`. Never shown in messages and events. */
  readonly parameters?: readonly [name: string, value: string][];
  readonly purpose?: 'page' | 'probe' | undefined;
}

/** @param baseUrl Without user info and query. */
export function targetOf(baseUrl: string, asked: Asked): Target {
  const { path, id, page, query = {}, parameters, purpose } = asked;
  const label = `${shown(baseUrl, asked)}${page === undefined ? '' : ` page ${page}`}`;
  return {
    path: id === undefined ? path : `${path}/${encodeURIComponent(id)}`,
    query: parameters ?? query,
    purpose,
    label,
  };
}

/** Describes a request for events. */
export function factsOf(baseUrl: string, asked: Asked): RequestDescription {
  const { collection, id, page, query = {}, purpose = 'page' } = asked;
  const search = new URLSearchParams(query).toString();
  return {
    url: `${shown(baseUrl, asked)}${search === '' ? '' : `?${search}`}`,
    collection: collection.name,
    page,
    purpose: id === undefined ? purpose : 'find',
  };
}

function shown(baseUrl: string, { path, id }: Asked): string {
  return `${baseUrl.replace(/\/+$/, '')}${path}${id === undefined ? '' : '/{id}'}`;
}
