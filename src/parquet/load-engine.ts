import type { ParquetEngine } from './engine.js';
import type { EngineName } from './engines.js';

/** Loads each engine of `engines`. A missing one is a compile error. */
const loaders: { readonly [N in EngineName]: (threads?: number) => Promise<ParquetEngine> } = {
  arrow: async (threads) => (await import('./engines/arrow.js')).arrowEngine(threads),
  hyparquet: async () => (await import('./engines/hyparquet.js')).hyparquetEngine,
  'parquetjs-lite': async () => (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine,
};

/**
 * Loads an engine on first use, so that no one waits for the others.
 *
 * @param threads Number of encoding threads besides this one, for engines that support them: 0 or 1. Default: what is possible.
 */
export function loadEngine(name: EngineName, threads?: number): Promise<ParquetEngine> {
  return loaders[name](threads);
}
