import { StepError } from '../core/index.js';

/** Returns a function that makes the error of a step that cannot spill rows to disk. */
export function scratchFailure(at: string): (message: string) => StepError {
  return (message) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`);
}
