import { GateError, SourceError } from '../../core/index.js';

/** Whether a failure is about what the pages have, and not about how they are got. */
export function restsOnPages(failure: unknown): boolean {
  if (failure instanceof GateError) return true;
  return failure instanceof SourceError && contentCodes.has(failure.code);
}

const contentCodes = new Set<SourceError['code']>([
  'E_SOURCE_ORDER',
  'E_SOURCE_PAGE_CAP',
  'E_SOURCE_PAGE_IGNORED',
  'E_SOURCE_FIRST_PAGE',
  'E_SOURCE_ENDLESS',
  'E_SOURCE_CURSOR',
  'E_SOURCE_LINK',
]);
