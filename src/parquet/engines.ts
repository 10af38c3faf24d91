import type { Compression } from './storage.js';

/**
 * What a library can do beyond plain files. The reference says it, the choice of an engine goes by it, and a configuration which it cannot follow
 * is refused before the first request.
 */
export interface EngineAbilities {
  /** What else a choice may depend on, as the reference says it. */
  readonly traits: string;
  /** The default first. */
  readonly compressions: readonly [Compression, ...Compression[]];
  readonly bloomFilters: boolean;
  readonly columnIndex: boolean;
  /** Whether it can record by what the rows are sorted. */
  readonly sorting: boolean;
  /** The level of zstd that it has unless told otherwise, and whether it can be told. */
  readonly zstd?: { readonly level: number; readonly isAdjustable: boolean };
  /** Whether it can encode in a thread of its own. */
  readonly threads: boolean;
}

/** All engines. The first is the default wherever it can do what is asked. */
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
    // A higher one takes more time than the rest of the encoding.
    zstd: { level: 3, isAdjustable: true },
    threads: false,
  },
  'parquetjs-lite': {
    traits: 'plain V1 files without statistics, a seventh of the speed; whole numbers beyond 2^53 do not cast',
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
