import { discreetMessage, LeadstreamError, SourceError } from '../core/index.js';
import type { EventError } from './map.js';

/** Converts a failure for events. */
export function eventError(failure: unknown): EventError {
  if (!(failure instanceof LeadstreamError)) return { code: 'UNKNOWN', message: failure instanceof Error ? failure.name : typeof failure };
  const { code } = failure;
  const message = discreetMessage(failure);
  return failure instanceof SourceError && failure.status !== undefined ? { code, message, status: failure.status } : { code, message };
}
