import type * as Expressions from './expression.js';

let loaded: typeof Expressions | undefined;

/** Loads the evaluation of expressions (CEL), which only pipeline files need. */
export async function loadExpressions(): Promise<void> {
  loaded ??= await import('./expression.js');
}

/** Returns the functions for expressions in files. @throws {Error} If they were not loaded, which is a bug. */
export function expressions(): typeof Expressions {
  if (!loaded) throw new Error('expressions were not loaded');
  return loaded;
}
