import { itemAt } from '../../core/index.js';
import { engineNames, engines, type Compression, type EngineAbilities, type EngineName } from '../../parquet/index.js';
import { sortPlanOf, type SortBy } from './sort-plan.js';

/** The options of a table that not every engine supports. */
export interface EngineOptions {
  readonly engine?: EngineName | undefined;
  readonly compression?: Compression | undefined;
  readonly compression_level?: number | undefined;
  readonly threads?: number | undefined;
  readonly bloom_filter: readonly string[];
  readonly column_index: boolean;
  readonly sort_by: SortBy;
}

/** A feature that an engine may lack, and the option that requests it. */
interface Feature {
  readonly option: Exclude<keyof EngineOptions, 'engine' | 'compression'>;
  /** Name of the feature in the description of engines that have it. Default: not mentioned there. */
  readonly trait?: string;
  isAsked(options: EngineOptions): boolean;
  isIn(able: EngineAbilities): boolean;
  /** The message for an engine without it. */
  readonly lack: string;
}

const features: readonly Feature[] = [
  {
    option: 'bloom_filter',
    trait: 'bloom filters',
    isAsked: ({ bloom_filter: columns }) => columns.length > 0,
    isIn: ({ bloomFilters }) => bloomFilters,
    lack: 'has no bloom filters',
  },
  {
    option: 'column_index',
    trait: 'column index',
    isAsked: ({ column_index: isAsked }) => isAsked,
    isIn: ({ columnIndex }) => columnIndex,
    lack: 'writes no column index',
  },
  {
    option: 'sort_by',
    isAsked: (options) => sortPlanOf(options).columns.length > 0,
    isIn: ({ sorting }) => sorting,
    lack: 'cannot record a sort order',
  },
  {
    option: 'compression_level',
    trait: 'levels of zstd',
    isAsked: ({ compression_level: level }) => level !== undefined,
    isIn: ({ zstd }) => zstd?.isAdjustable ?? false,
    lack: 'has no levels',
  },
  {
    option: 'threads',
    isAsked: ({ threads }) => threads === 1,
    isIn: ({ threads }) => threads,
    lack: 'encodes in the main thread only',
  },
];

function abilitiesOf(name: EngineName): EngineAbilities {
  return engines[name];
}

/**
 * Returns the requested engine, or the first that supports all other requested options. If none does, requirements are
 * applied in order, skipping those that no remaining engine meets.
 */
export function engineOf(options: EngineOptions): EngineName {
  const { engine, compression } = options;
  if (engine !== undefined) return engine;
  const wanted: readonly ((able: EngineAbilities) => boolean)[] = [
    ({ compressions }) => compression === undefined || compressions.includes(compression),
    ...features.filter(({ isAsked }) => isAsked(options)).map(({ isIn }) => isIn),
  ];
  const able = wanted.reduce<readonly EngineName[]>((left, can) => {
    const fewer = left.filter((name) => can(abilitiesOf(name)));
    return fewer.length === 0 ? left : fewer;
  }, engineNames);
  return itemAt(able, 0);
}

/** Returns the requested codec, or the engine's default. */
export function compressionOf(options: EngineOptions): Compression {
  return options.compression ?? abilitiesOf(engineOf(options)).compressions[0];
}

/** Returns the requested features that the engine lacks, by option. */
export function engineFaults(options: EngineOptions): readonly { readonly option: string; readonly message: string }[] {
  const { compression } = options;
  const engine = engineOf(options);
  const able = abilitiesOf(engine);
  const lacking = features.filter(({ isAsked, isIn }) => isAsked(options) && !isIn(able));
  const hasCodec = compression === undefined || able.compressions.includes(compression);
  const codec = hasCodec ? [] : [{ option: 'compression', lack: `has no ${compression}; it has ${able.compressions.join(', ')}` }];
  return [...codec, ...lacking].map(({ option, lack }) => ({ option, message: `the engine ${engine} ${lack}` }));
}

/** Descriptions of the engine options for the reference, derived from what the engines support. */
export const engineTexts = {
  engine: () => `Library that encodes: ${anyOf(engineNames.map(described))}. Default ${defaults()}.`,
  compression: () => `Codec of the data pages. Default ${defaultCodecs()}.`,
  level: () => `Level of zstd, from 1 (fast) to 19 (small): ${engineNames.flatMap(levelsOf).join('; ')}.`,
  threads: () =>
    `Extra threads that encode, for the engine ${anyOf(engineNames.filter((name) => engines[name].threads))}; the files are identical. Default 1, and 0 on a machine with one core, in a bundle without the worker file, or if threads are forbidden.`,
} as const;

function described(name: EngineName): string {
  const able = abilitiesOf(name);
  const traits = features.flatMap(({ trait, isIn }) => (trait !== undefined && isIn(able) ? trait : []));
  return `${name} (${[...traits, able.traits].join(', ')})`;
}

/** Describes the default engine, and the options that change the default because the first engine does not support them. */
function defaults(): string {
  const first = itemAt(engineNames, 0);
  const options = new Map<EngineName, string[]>();
  for (const { option, isIn } of features) {
    const able = engineNames.find((name) => isIn(abilitiesOf(name)));
    if (able !== undefined && able !== first) options.set(able, [...(options.get(able) ?? []), option]);
  }
  return [first, ...[...options].map(([name, asked]) => `${name} with ${anyOf(asked)}`)].join(', and ');
}

function defaultCodecs(): string {
  const [codec] = abilitiesOf(itemAt(engineNames, 0)).compressions;
  const others = engineNames.flatMap((name) => {
    const { compressions } = abilitiesOf(name);
    if (compressions[0] === codec) return [];
    return `${compressions[0]} with ${name}${compressions.includes(codec) ? '' : `, which has no ${codec}`}`;
  });
  return [codec, ...others].join(', and ');
}

function levelsOf(name: EngineName): readonly string[] {
  const { zstd } = abilitiesOf(name);
  if (zstd === undefined) return [];
  return [zstd.isAdjustable ? `${name} accepts any of them, ${zstd.level} by default` : `${name} has level ${zstd.level} only`];
}

/** Joins words as `a, b or c`. */
function anyOf(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' or ');
}
