import type { z } from 'zod';
import { LeadstreamError, StepError } from '../core/index.js';
import { faultsIn, type Check } from './check.js';
import { optionProblems } from './problems.js';

/**
 * Checks the arguments of a function against a schema.
 *
 * @param at Name of the function, for messages.
 * @param taken Schema of an object with the arguments.
 * @param given The arguments by name.
 * @throws {StepError} `E_STEP_CONFIG`, naming each argument, what is expected and what was given.
 */
export function checkArguments(at: string, taken: () => z.ZodType, given: unknown): void {
  refuse(at, optionProblems(taken(), given));
}

/** Checks arguments like `checkArguments`, for the functions that every reading program uses: it loads nothing. */
export function checkGiven(at: string, wanted: Check, given: unknown): void {
  refuse(at, faultsIn(wanted, given));
}

/**
 * Checks the arguments of functions that do not create a step.
 *
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function checkUsage(at: string, wanted: Check, given: unknown): void {
  const problems = faultsIn(wanted, given);
  if (problems.length > 0) throw new LeadstreamError('E_USAGE', `${at}: ${problems.join('; ')}`);
}

function refuse(at: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new StepError('E_STEP_CONFIG', `${at}: ${problems.join('; ')}`);
}
