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
export function planStep(
  entry: Readonly<Record<string, unknown>>,
  { definitions: { steps, sinks }, isPlain, unknown }: Entries,
  index: number,
  problem: Problem,
): StepOfFile | undefined {
  const chosen = chooseOne(entry, steps, ['steps', index], { name: 'step', others: sinks, below: 'to' }, problem);
  if (!chosen) return undefined;
  const { name, definition } = chosen;
  const path = ['steps', index, name];
  const config = validated<unknown>(definition.config(), givenTo(chosen, path, isPlain), path, ofKnown(path, unknown, problem));
  return config === undefined ? undefined : { at: `steps[${index}] ${name}`, definition, config };
}

/** Returns a sink of a file, and reports its problems. */
export function planSink(
  entry: Readonly<Record<string, unknown>>,
  index: number,
  { definitions: { steps, sinks }, isPlain, unknown, baseDir, pipeline }: Place & Entries,
  problem: Problem,
): PlannedSink | undefined {
  const chosen = chooseOne(entry, sinks, ['to', index], { name: 'sink', others: steps, below: 'steps' }, problem);
  if (!chosen) return undefined;
  const { name, definition } = chosen;
  const path = ['to', index, name];
  const config = validated<unknown>(definition.config(), givenTo(chosen, path, isPlain), path, ofKnown(path, unknown, problem));
  if (config === undefined) return undefined;
  const output = definition.output(config, { baseDir, names: unfilled(pipeline) });
  return { at: `to[${index}] ${name}`, index, definition, config, output };
}

/** Of a step or sink with an unknown value, only the keys are checked. */
function ofKnown(at: Path, unknown: readonly Path[], problem: Problem): Problem {
  return isOpen(at, unknown) ? (path, message, onKey) => onKey === true && problem(path, message, onKey) : problem;
}

/** Returns the value of an entry: for a custom step or sink with numbers, flags and `null`, for others with the texts of the file. */
function givenTo(
  { definition, value }: { readonly definition: Pick<StepDefinition, 'version'>; readonly value: unknown },
  path: Path,
  isPlain: Entries['isPlain'],
): unknown {
  return definition.version === undefined ? value : typedScalars(value, path, isPlain);
}

/** The kind of entries in a list of the file. */
interface Kind {
  readonly name: string;
  /** The entries of the other list, which is under the key `below`. */
  readonly others: object;
  readonly below: string;
}

/** Returns the definition of a step or sink, which is a map with a single key: its name. */
function chooseOne<D>(
  entry: Readonly<Record<string, unknown>>,
  registry: Readonly<Record<string, D>>,
  path: Path,
  { name: kind, others: elsewhere, below }: Kind,
  problem: Problem,
): { name: string; definition: D; value: unknown } | undefined {
  const [name, ...others] = Object.keys(entry);
  if (name === undefined || others.length > 0) {
    problem(path, `a ${kind} is a map with a single key, its name; indent what belongs to it below the name`);
    return undefined;
  }
  const definition = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (definition === undefined) {
    problem(
      [...path, name],
      Object.hasOwn(elsewhere, name)
        ? `'${name}' is not a ${kind}; it belongs under ${below}`
        : unknownName(kind, name, [...Object.keys(registry), 'those of --plugin FILE']),
      true,
    );
    return undefined;
  }
  return { name, definition, value: entry[name] };
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
