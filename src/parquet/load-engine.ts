import type { ParquetEngine } from './engine.js';
import type { EngineName } from './engines.js';

/** Loads each engine of `engines`. Does not compile if one is missing. */
const loaders: { readonly [N in EngineName]: (threads?: number) => Promise<ParquetEngine> } = {
  arrow: async (threads) => (await import('./engines/arrow.js')).arrowEngine(threads),
  hyparquet: async () => (await import('./engines/hyparquet.js')).hyparquetEngine,
  'parquetjs-lite': async () => (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine,
};

/**
 * Loads an engine on first use, so that the others cost nothing.
 *
 * @param threads Number of additional encoding threads, for engines that support them: 0 or 1. Default: 1 if available.
 */
export function loadEngine(name: EngineName, threads?: number): Promise<ParquetEngine> {
  return loaders[name](threads);
}
