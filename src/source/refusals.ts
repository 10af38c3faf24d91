import { SourceError } from '../core/index.js';

/** Creates the failure for a row that can be requested alone while its page stays empty. */
export function unreachable(collection: string, row: number, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: row ${row} exists when requested alone, but page ${page} has no rows`);
}

/** Creates the failure for a page that is sometimes full and sometimes empty. */
export function unsettled(collection: string, page: number): SourceError {
  return refused('E_SOURCE_ORDER', `${collection}: page ${page} is sometimes full and sometimes empty`);
}

/** Creates the failure for a service that ignores the page number. */
export function ignored(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_IGNORED', `${collection}: page ${page} repeats page ${page - 1}; the service ignores the page number`);
}

/** Creates the failure for a list that continues after the last page the service allows. */
export function capped(collection: string, page: number): SourceError {
  return refused('E_SOURCE_PAGE_CAP', `${collection}: page ${page} is full, but the service returns no page beyond it`);
}

function refused(code: SourceError['code'], message: string): SourceError {
  return new SourceError(code, 'permanent', message);
}
