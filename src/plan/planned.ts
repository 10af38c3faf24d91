import { outputColumn, schema, unknownName, type Column, type OutputColumn } from '../core/index.js';
import { dayTemplate, runTemplate, type PathNames } from '../store/index.js';
import type { SinkDefinition } from '../sinks/index.js';
import type { StepDefinition } from '../steps/index.js';
import type { Definitions } from './definitions.js';
import type { Path } from './document.js';
import { isOpen, validated } from './issues.js';
import type { Problem } from './references.js';

/** A step of a pipeline file: its definition and its configuration. */
export interface StepOfFile {
  /** Name in messages and reports, like `steps[1] derive`. */
  readonly at: string;
  readonly definition: StepDefinition;
  /** As its schema returns it. */
  readonly config: unknown;
}

/** A step of a checked pipeline. */
export interface PlannedStep extends StepOfFile {
  /** The declared columns that arrive at it. */
  readonly input: readonly Column[];
}

/** A sink of a checked pipeline. */
export interface PlannedSink {
  /** Name in messages and reports, like `to[0] parquet`. */
  readonly at: string;
  /** Index in the list of the file, from 0. */
  readonly index: number;
  readonly definition: SinkDefinition;
  /** As its schema returns it. */
  readonly config: unknown;
  /** Absolute path that is published, with placeholders for day and run id; `undefined` if it has no path. */
  readonly output: string | undefined;
}

/** Returns the columns that a sink writes for the arriving ones. */
export function writtenColumns({ definition, config }: PlannedSink, arriving: readonly Column[]): readonly OutputColumn[] {
  return definition.writes?.(config, arriving) ?? outputColumns(config, arriving);
}

/** Base folder and name of a pipeline. */
export interface Place {
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** Its name. */
  readonly pipeline: string;
}

/** What the entries of a file can be, how its scalars are written, and the paths of its unknown values. */
export interface Entries {
  readonly definitions: Definitions;
  readonly unknown: readonly Path[];
  isPlain(path: Path): boolean;
}

/** Returns a step of a file, and reports its problems. */
export function planStep(entry: Entry, index: number, entries: Entries, problem: Problem): StepOfFile | undefined {
  return planEntry(entry, ['steps', index], entries.definitions.steps, entries, problem);
}

/** Returns a sink of a file, and reports its problems. */
export function planSink(entry: Entry, index: number, place: Place & Entries, problem: Problem): PlannedSink | undefined {
  const planned = planEntry(entry, ['to', index], place.definitions.sinks, place, problem);
  if (!planned) return undefined;
  const names = unfilled(place.pipeline);
  return { ...planned, index, output: planned.definition.output(planned.config, { baseDir: place.baseDir, names }) };
}

type Entry = Readonly<Record<string, unknown>>;

/** Returns the definition and configuration of a step or sink, which is a map with a single key: its name. */
function planEntry<D extends Pick<StepDefinition, 'config' | 'version'>>(
  entry: Entry,
  [list, index]: readonly ['steps' | 'to', number],
  registry: Readonly<Record<string, D>>,
  { definitions: { steps, sinks }, isPlain, unknown }: Entries,
  problem: Problem,
): { readonly at: string; readonly definition: D; readonly config: unknown } | undefined {
  const [kind, elsewhere, below] = list === 'steps' ? ['step', sinks, 'to'] : ['sink', steps, 'steps'];
  const [name, ...others] = Object.keys(entry);
  if (name === undefined || others.length > 0) {
    problem([list, index], `a ${kind} is a map with a single key, its name; indent what belongs to it below the name`);
    return undefined;
  }
  const path = [list, index, name];
  const definition = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (definition === undefined) {
    const known = [...Object.keys(registry), 'those of --plugin FILE'];
    const message = Object.hasOwn(elsewhere, name)
      ? `'${name}' is not a ${kind}; it belongs under ${below}`
      : unknownName(kind, name, known);
    problem(path, message, true);
    return undefined;
  }
  // A custom step or sink receives numbers, flags and `null`, others the texts of the file.
  const value = definition.version === undefined ? entry[name] : typedScalars(entry[name], path, isPlain);
  // With an unknown value, only the keys are checked.
  const ofKnown: Problem = (at, message, onKey, place) => onKey === true && problem(at, message, onKey, place);
  const config = validated<unknown>(definition.config(), value, path, isOpen(path, unknown) ? ofKnown : problem);
  return config === undefined ? undefined : { at: `${list}[${index}] ${name}`, definition, config };
}

/** Returns the names in paths as far as they are known before a run. */
export function unfilled(pipeline: string): PathNames {
  return { pipeline, 'run.date': dayTemplate, 'run.id': runTemplate };
}

/**
 * Converts the scalars of a value in a file: `true`, `false`, `null` (also if empty) and numbers in JSON notation, unless they are quoted. Everything else
 * stays text, such as `yes`, `0123`, and numbers that would lose digits.
 *
 * @example
 * typedScalars({ by: '2.5', id: '0123', on: 'true' }, [], () => true); // { by: 2.5, id: '0123', on: true }
 */
function typedScalars(value: unknown, path: Path, isPlain: (path: Path) => boolean): unknown {
  if (typeof value === 'string') return isPlain(path) ? scalarOf(value) : value;
  if (Array.isArray(value)) return value.map((item, index) => typedScalars(item, [...path, index], isPlain));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, typedScalars(item, [...path, key], isPlain)]));
}

function scalarOf(text: string): unknown {
  if (text === '' || text === 'null' || text === '~') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text)) return text;
  const number = Number(text);
  const isWhole = Number.isInteger(number);
  return Number.isFinite(number) && (!isWhole || Number.isSafeInteger(number)) ? number : text;
}

/** The options that sinks share and that determine which columns they write. */
const shared = schema((z) =>
  z.object({
    columns: z.array(z.string()).optional(),
    naming: z.enum(['original', 'snake_case']).optional(),
    types: z.enum(['typed', 'text']).optional(),
  }),
);

function outputColumns(config: unknown, arriving: readonly Column[]): readonly OutputColumn[] {
  const { columns, naming = 'snake_case', types = 'typed' } = shared().safeParse(config).data ?? {};
  const wanted = columns?.flatMap((name) => arriving.find((column) => column.name === name) ?? []) ?? arriving;
  return wanted.map((column) => outputColumn(column, { naming, types }));
}
