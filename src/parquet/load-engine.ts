import type { EngineName, ParquetEngine } from './encoder.js';

/**
 * Loads an engine on first use, so that nobody waits for the others.
 *
 * @param threads How many threads encode beside this one, for engines that can: 0 or 1. Default: what is there.
 */
export async function loadEngine(name: EngineName, threads?: number): Promise<ParquetEngine> {
  if (name === 'arrow') return (await import('./engines/arrow.js')).arrowEngine(threads);
  if (name === 'hyparquet') return (await import('./engines/hyparquet.js')).hyparquetEngine;
  return (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine;
}
