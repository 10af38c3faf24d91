import { LeadstreamError } from '../core/index.js';
import { readDrift } from './drift/index.js';
import { faultResponders, type FaultSpec } from './faults/index.js';
import { quirkEffects } from './quirks/index.js';

/** How a service differs from an honest and quiet one, as written on the command line and in files. */
export interface ServiceTerms {
  readonly faults?: readonly FaultSpec[] | undefined;
  readonly quirks?: readonly string[] | undefined;
  readonly drift?: string | undefined;
}

/** A problem of one of the terms, or of all quirks together. */
export interface TermProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Returns the problems that the parser of the service finds in such terms. Nothing is started.
 *
 * @example
 * termProblems({ quirks: ['capp=2'] }); // [{ path: ['quirks', 0], message: "quirk: there is no 'capp', did you mean 'cap'?" }]
 */
export function termProblems({ faults = [], quirks = [], drift }: ServiceTerms): readonly TermProblem[] {
  const problems: TermProblem[] = [];
  const check = (path: TermProblem['path'], read: () => unknown) => {
    try {
      read();
    } catch (failure) {
      if (!(failure instanceof LeadstreamError)) throw failure;
      problems.push({ path, message: failure.message });
    }
  };
  faults.forEach((fault, index) => check(['faults', index], () => faultResponders([fault], 0)));
  quirks.forEach((quirk, index) => check(['quirks', index], () => quirkEffects([quirk], 0)));
  if (problems.every(({ path: [kind] }) => kind !== 'quirks')) check(['quirks'], () => quirkEffects(quirks, 0));
  if (drift !== undefined) check(['drift'], () => readDrift(drift));
  return problems;
}
