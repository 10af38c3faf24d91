import { StepError } from '../core/index.js';

/** What a step fails with when it cannot keep what is beyond its memory. */
export function scratchFailure(at: string): (message: string, cause?: unknown) => StepError {
  return (message, cause) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`, { cause });
}
