import { SourceError } from '../core/index.js';

/** The next row is there when it is asked for by itself, and its page stays empty. */
export function unreachable(collection: string, row: number, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: row ${row} is there by itself, but page ${page} has no row`);
}

/** A page is neither there nor not. */
export function unsettled(collection: string, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: page ${page} is full one time and empty another`);
}

/** The page number changes nothing. */
export function ignored(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_IGNORED', `${collection}: page ${page} is page ${page - 1} again, and the page number changes nothing`);
}

/** The list goes on behind the last page that there may be. */
export function capped(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_CAP', `${collection}: page ${page} is full, and the service gives no other page above it`);
}

function refused(code: SourceError['code'], message: string): SourceError {
  return new SourceError(code, 'permanent', message);
}
