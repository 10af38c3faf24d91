import type { ParquetEngine } from './engine.js';
import type { EngineName } from './engines.js';

/** How each engine of `engines` is loaded. One that is missing here does not compile. */
const loaders: { readonly [N in EngineName]: (threads?: number) => Promise<ParquetEngine> } = {
  arrow: async (threads) => (await import('./engines/arrow.js')).arrowEngine(threads),
  hyparquet: async () => (await import('./engines/hyparquet.js')).hyparquetEngine,
  'parquetjs-lite': async () => (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine,
};

/**
 * Loads an engine on first use, so that nobody waits for the others.
 *
 * @param threads How many threads encode beside this one, for engines that can: 0 or 1. Default: what is there.
 */
export function loadEngine(name: EngineName, threads?: number): Promise<ParquetEngine> {
  return loaders[name](threads);
}
