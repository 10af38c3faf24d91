import { catalogue } from './catalogue.js';
import { LeadstreamError } from './errors.js';
import { limitReached } from './limit-reached.js';

/**
 * What something thrown is by the catalogue: a failure of ours is what it says, a limit of the system that was reached has a code of its own, and
 * all else is a defect, `E_RUN_FAILED`.
 */
export function failureOf(thrown: unknown): Pick<LeadstreamError, 'code' | 'message' | 'help' | 'exit'> {
  const failure = limitReached(thrown) ?? thrown;
  if (failure instanceof LeadstreamError) return failure;
  const code = 'E_RUN_FAILED';
  const { help, exit } = catalogue[code];
  return { code, message: failure instanceof Error ? `${failure.name}: ${failure.message}` : 'something unknown was thrown', help, exit };
}
