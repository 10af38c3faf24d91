import { GateError, SinkError, SourceError, StepError } from '../../core/index.js';

/** Whether a failure is about what the pages have, and not about how they are got. */
export function restsOnPages(failure: unknown): boolean {
  if (failure instanceof GateError) return true;
  if (failure instanceof StepError || failure instanceof SinkError) return rowCodes.has(failure.code);
  return failure instanceof SourceError && listCodes.has(failure.code);
}

/** A row that was wrong may be right at the service by the time of the next run. */
const rowCodes = new Set<string>(['E_STEP_VALUE', 'E_STEP_EXPRESSION', 'E_STEP_CONDITION', 'E_STEP_MATCHES', 'E_SINK_VALUE'] satisfies (
  | StepError['code']
  | SinkError['code']
)[]);

const listCodes = new Set<SourceError['code']>([
  'E_SOURCE_ORDER',
  'E_SOURCE_PAGE_CAP',
  'E_SOURCE_PAGE_IGNORED',
  'E_SOURCE_FIRST_PAGE',
  'E_SOURCE_ENDLESS',
  'E_SOURCE_CURSOR',
  'E_SOURCE_LINK',
]);
