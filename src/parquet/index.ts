import type { Compression, ParquetEngine } from './engine.js';

export { type ByteTarget, codecs, compressions, type Encoding, type ParquetEncoder, type ParquetEngine, type RowGroup } from './engine.js';
export { contentFault, type Expected, footerFault, footerOf, readExactGroups, readGroups } from './read.js';
export { statisticsOf, type ColumnStatistics } from './statistics.js';

/** All engines with their codecs, the default ones first. */
export const engines = {
  arrow: ['zstd', 'snappy', 'gzip', 'none'],
  'parquetjs-lite': ['snappy', 'gzip', 'none'],
} as const satisfies Readonly<Record<string, readonly Compression[]>>;

export type EngineName = keyof typeof engines;

export const engineNames = ['arrow', 'parquetjs-lite'] as const satisfies readonly EngineName[];

/** Loads an engine on first use. @param threads Encoding threads besides this one, for `arrow`: 0 or 1. Default: as many as possible. */
export async function loadEngine(name: EngineName, threads?: number): Promise<ParquetEngine> {
  if (name === 'arrow') return (await import('./engines/arrow.js')).arrowEngine(threads);
  return (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine;
}
