import type { Compression } from './storage.js';

/**
 * What a library supports beyond plain files. The reference lists it, the choice of an engine depends on it, and a
 * configuration that needs more is refused before the first request.
 */
export interface EngineAbilities {
  /** Other traits that may matter for the choice, as shown in the reference. */
  readonly traits: string;
  /** The default first. */
  readonly compressions: readonly [Compression, ...Compression[]];
  readonly bloomFilters: boolean;
  readonly columnIndex: boolean;
  /** Whether it can record the sort order of the rows. */
  readonly sorting: boolean;
  /** The default level of zstd, and whether another one can be set. */
  readonly zstd?: { readonly level: number; readonly isAdjustable: boolean };
  /** Whether it can encode in a separate thread. */
  readonly threads: boolean;
}

/** All engines. The first is the default if it supports what is requested. */
export const engines = {
  arrow: {
    traits: 'the fastest, V1 pages',
    compressions: ['zstd', 'snappy', 'gzip', 'none'],
    bloomFilters: false,
    columnIndex: false,
    sorting: true,
    zstd: { level: 1, isAdjustable: false },
    threads: true,
  },
  hyparquet: {
    traits: 'V2 pages',
    compressions: ['zstd', 'snappy', 'gzip', 'none'],
    bloomFilters: true,
    columnIndex: true,
    sorting: true,
    // A higher level takes more time than the rest of the encoding.
    zstd: { level: 3, isAdjustable: true },
    threads: false,
  },
  'parquetjs-lite': {
    traits: 'plain V1 files without statistics, at a seventh of the speed; whole numbers beyond 2^53 do not cast',
    compressions: ['snappy', 'gzip', 'none'],
    bloomFilters: false,
    columnIndex: false,
    sorting: false,
    threads: false,
  },
} as const satisfies Readonly<Record<string, EngineAbilities>>;

export type EngineName = keyof typeof engines;

/** The names of all engines, the default first. */
export const engineNames = Object.keys(engines).filter((name): name is EngineName => Object.hasOwn(engines, name));
