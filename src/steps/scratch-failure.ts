import { StepError } from '../core/index.js';

/** Returns a function that makes the error of a step that cannot spill rows to disk. */
export function scratchFailure(at: string): (message: string, cause?: unknown) => StepError {
  return (message, cause) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`, { cause });
}
