import type { z } from 'zod';
import { StepError } from '../core/index.js';
import { optionProblems } from './problems.js';

/**
 * Holds what a function of the module was given to what it takes.
 *
 * @param at Name of the function in messages.
 * @param taken Schema of an object with the arguments.
 * @param given The arguments by their names.
 * @throws {StepError} `E_STEP_CONFIG`, naming each argument, what is wanted and what was given.
 */
export function checkArguments(at: string, taken: () => z.ZodType, given: unknown): void {
  const problems = optionProblems(taken(), given);
  if (problems.length > 0) throw new StepError('E_STEP_CONFIG', `${at}: ${problems.join('; ')}`);
}
