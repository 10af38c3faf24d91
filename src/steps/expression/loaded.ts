import type * as Configured from './configured.js';

let loaded: typeof Configured | undefined;

/** Loads the evaluation of expressions (CEL), which only pipeline files need. */
export async function loadExpressions(): Promise<void> {
  loaded ??= await import('./configured.js');
}

/** Returns the functions for expressions in files. @throws {Error} If they were not loaded, which is a bug. */
export function expressions(): typeof Configured {
  if (!loaded) throw new Error('expressions were not loaded');
  return loaded;
}
