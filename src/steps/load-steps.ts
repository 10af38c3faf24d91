import type { steps } from './registry.js';

/** The steps that pipeline files know, by name. */
export type StepDefinitions = typeof steps;

/** Loads what pipeline files need and programs do not: beside the steps, the evaluation of expressions (CEL). */
export async function loadSteps(): Promise<StepDefinitions> {
  return (await import('./registry.js')).steps;
}
