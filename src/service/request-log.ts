import { appendFileSync } from 'node:fs';
import { LeadstreamError, reasonOf } from '../core/index.js';
import type { RequestFacts } from './answer.js';

/** One line of the request log: what was asked on a collection's path and how it ended. Never a credential. */
export interface RequestEntry extends RequestFacts {
  /** HTTP status of the answer; 0 for none. */
  readonly status: number;
  /** The faults that had a hand in the answer, as they were written. */
  readonly fault?: string | undefined;
}

/**
 * Appends entries to a file as NDJSON. Each line is in the file before the request is answered, so that it is there
 * whatever becomes of the client. A page or limit that is no number is `null`.
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
