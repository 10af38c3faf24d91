import type { z } from 'zod';
import { LeadstreamError, StepError } from '../core/index.js';
import { faultsIn, type Check } from './check.js';
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
  refuse(at, optionProblems(taken(), given));
}

/** The same by a check, for what every program that reads has: it loads nothing. */
export function checkGiven(at: string, wanted: Check, given: unknown): void {
  refuse(at, faultsIn(wanted, given));
}

/**
 * The same for functions that make no step.
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
