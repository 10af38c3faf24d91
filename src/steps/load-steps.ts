import type { steps } from './registry.js';

/** The steps available in pipeline files, by name. */
export type StepDefinitions = typeof steps;

/** Loads what only pipeline files need: besides the steps, the evaluation of expressions (CEL). */
export async function loadSteps(): Promise<StepDefinitions> {
  return (await import('./registry.js')).steps;
}
