import { appendFileSync } from 'node:fs';
import { LeadstreamError, reasonOf } from '../core/index.js';
import type { RequestFacts } from './answer.js';

/** One line of the request log: a request on a collection's path and how it ended. It never contains a credential. */
export interface RequestEntry extends RequestFacts {
  /** HTTP status of the answer; 0 for none. */
  readonly status: number;
  /** The faults that affected the answer, as they were written. */
  readonly fault?: string | undefined;
}

/**
 * Returns a function that appends entries to a file as NDJSON. Each line is in the file before the request is answered, whatever happens to the client. A page
 * or limit that is not a number is `null`.
 *
 * @throws {LeadstreamError} `E_USAGE` when the file cannot be written.
 */
export function requestLog(file: string): (entry: RequestEntry) => void {
  try {
    appendFileSync(file, '');
  } catch (error) {
    throw new LeadstreamError('E_USAGE', `request log ${file}: ${reasonOf(error)}`);
  }
  return (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`);
}
