import { GateError, SinkError, SourceError, StepError } from '../core/index.js';

/** Returns whether a failure is about the content of the pages, rather than about fetching them or writing their rows. */
export function restsOnPages(failure: unknown): boolean {
  if (failure instanceof GateError) return true;
  const isJudged = failure instanceof SourceError || failure instanceof StepError || failure instanceof SinkError;
  return isJudged && codes[failure.code];
}

/** By code: whether the service may have corrected the rows or the list by the next run. With a full disk, for example, the pages are fine. */
const codes: Readonly<Record<(SourceError | StepError | SinkError)['code'], boolean>> = {
  E_SOURCE_ORDER: true,
  E_SOURCE_PAGE_CAP: true,
  E_SOURCE_PAGE_IGNORED: true,
  E_SOURCE_FIRST_PAGE: true,
  E_SOURCE_ENDLESS: true,
  E_SOURCE_CURSOR: true,
  E_SOURCE_LINK: true,
  E_SOURCE_CONFIG: false,
  E_SOURCE_AUTH: false,
  E_SOURCE_UNAVAILABLE: false,
  E_SOURCE_ANSWER: false,
  E_SOURCE_ROWS: false,
  E_SOURCE_CLOSED: false,
  E_SOURCE_REFUSED: false,
  E_SOURCE_TLS: false,
  E_SOURCE_PROXY: false,
  E_SOURCE_LIMIT: false,
  E_SOURCE_MAX_PAGES: false,
  E_STEP_FIELD: true,
  E_STEP_VALUE: true,
  E_STEP_EXPRESSION: true,
  E_STEP_CONDITION: true,
  E_STEP_FUNCTION: true,
  E_STEP_OVERFLOW: true,
  E_STEP_MATCHES: true,
  E_STEP_CONFIG: false,
  E_STEP_SCRATCH: false,
  E_SINK_VALUE: true,
  E_SINK_FIELD: true,
  E_SINK_KEY: true,
  E_SINK_CONFIG: false,
  E_SINK_PATH: false,
  E_SINK_FOREIGN: false,
  E_SINK_WRITE: false,
  // The cause is unknown for a custom sink; usually its destination is unavailable.
  E_SINK_FUNCTION: false,
  E_SINK_RUN: false,
  E_SINK_VERIFY: false,
};
