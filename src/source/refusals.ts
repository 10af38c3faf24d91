import { SourceError } from '../core/index.js';

/** Creates the failure for a row that can be requested alone while its page stays empty. */
export function unreachable(collection: string, row: number, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: row ${row} is there by itself, but page ${page} has no row`);
}

/** Creates the failure for a page that is sometimes full and sometimes empty. */
export function unsettled(collection: string, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: page ${page} is full one time and empty another`);
}

/** Creates the failure for a service that ignores the page number. */
export function ignored(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_IGNORED', `${collection}: page ${page} is page ${page - 1} again, and the page number changes nothing`);
}

/** Creates the failure for a list that continues after the last page the service allows. */
export function capped(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_CAP', `${collection}: page ${page} is full, and the service gives no other page above it`);
}

function refused(code: SourceError['code'], message: string): SourceError {
  return new SourceError(code, 'permanent', message);
}
