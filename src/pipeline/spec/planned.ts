import { meant, unknownName, type Column, type OutputColumn, type Row } from '../../core/index.js';
import type { Step, Tally } from '../../flow/index.js';
import { dayTemplate, runTemplate, type PathNames } from '../../store/index.js';
import type { SinkContext, SinkDefinition, SinkPlan, SinkWriter } from '../../sinks/index.js';
import type { JoinedOn, PlanContext, RowCondition, StepDefinition, StepRemark, StepRuntime, StepGate } from '../../steps/index.js';
import { outputColumns } from '../gates/schema.js';
import type { Definitions } from './definitions.js';
import type { Path } from './document.js';
import type { Problem } from './references.js';
import { typedScalars } from './typed-scalars.js';
import type { StandIns } from './stand-ins.js';
import { validated, type Judging } from './validate.js';

/** A step of a pipeline file with its configuration inside. */
export interface BoundStep {
  readonly name: string;
  /** Of a step of somebody's own, what its author calls its version. */
  readonly version: string | undefined;
  /** Name in messages and reports, like `steps[1] derive`. */
  readonly at: string;
  columns(input: readonly Column[], plan: PlanContext): readonly Column[];
  /** The other collection that it reads. */
  readonly reads: string | undefined;
  /** What it holds in memory beyond a page, in words. */
  readonly holds: string | undefined;
  /** What a row that passes it alone does not show, in words. */
  readonly alone: string | undefined;
  /** The expressions that it evaluates, as the file has them. */
  readonly expressions: readonly string[];
  /** What the parts of its condition give for a row, where it has a condition that has parts. */
  conditions(runtime: Pick<StepRuntime, 'input' | 'firstStart'>, row: Row): readonly RowCondition[];
  /** How it joins, if it does. */
  readonly joins: JoinedOn | undefined;
  open(runtime: StepRuntime): Step;
  /** Whether every row that leaves it is one that came, as it was, and none twice. */
  readonly keepsRows: boolean;
  /** Whether it takes all rows before it gives the first. */
  readonly blocking: boolean;
  /** Most rows that leave it, where it says so. */
  readonly most: number | undefined;
  /** Whether more rows can leave it than come. */
  readonly addsRows: boolean;
  gate(tally: Tally): StepGate | undefined;
  remark(tally: Tally, arrived: number): StepRemark | undefined;
}

/** A step of a checked pipeline. */
export interface PlannedStep extends BoundStep {
  /** The columns that arrive at it, as far as they are declared. */
  readonly input: readonly Column[];
}

/** A sink of a checked pipeline. */
export interface PlannedSink {
  readonly name: string;
  /** Of a sink of somebody's own, what its author calls its version. */
  readonly version: string | undefined;
  /** Place in the list of the file, from 0. */
  readonly index: number;
  /** Name in messages and reports, like `to[0] parquet`. */
  readonly at: string;
  /** Whether it prints, and publishes nothing. */
  readonly prints: boolean;
  /** Absolute path that is published, as far as it is known before a run: its day and its id stay in braces. None for one that has no path. */
  readonly output: string | undefined;
  /** The path that a run publishes. */
  outputOf(names: PathNames): string | undefined;
  /** Whether the rows are added to those of an output that exists. */
  readonly adds: boolean;
  /** What it holds in memory beyond a page, in words. */
  readonly holds: string | undefined;
  /** Columns that are in names of folders, and not in the files. */
  readonly folders: readonly string[];
  check(columns: readonly Column[], plan: SinkPlan): void;
  /** The columns that it writes when these arrive. */
  writes(columns: readonly Column[]): readonly OutputColumn[];
  open(context: Omit<SinkContext, 'at'>): Promise<SinkWriter>;
  /** Opens a writer that refuses the same rows, and leaves the output as it is. */
  rehearse(context: Omit<SinkContext, 'at'>): Promise<SinkWriter>;
}

/** Where a pipeline belongs. */
export interface Place {
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** Its name. */
  readonly pipeline: string;
}

/** What entries of a file can be, how its scalars stand there, and what stands in for unknown ones. */
export interface Entries {
  readonly definitions: Definitions;
  readonly standIns: StandIns;
  isPlain(path: Path): boolean;
}

/** A step of a file; what is wrong with it is reported. */
export function planStep(
  entry: Readonly<Record<string, unknown>>,
  { definitions: { steps, sinks }, isPlain, standIns }: Entries,
  index: number,
  problem: Problem,
): BoundStep | undefined {
  const chosen = chooseOne(entry, steps, ['steps', index], { name: 'step', others: sinks, below: 'to' }, problem);
  if (!chosen) return undefined;
  const path = ['steps', index, chosen.name];
  const judging = judgingOf(chosen.definition, path, { problem, standIns });
  return bindStep(chosen.definition, givenTo(chosen, path, isPlain), path, `steps[${index}] ${chosen.name}`, judging);
}

function bindStep(definition: StepDefinition, value: unknown, path: Path, at: string, judging: Judging): BoundStep | undefined {
  const config = validated(definition.config(), value, path, judging, definition.examples);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    version: definition.version,
    at,
    columns: (input, plan) => definition.columns(config, input, plan),
    reads: definition.reads?.(config),
    holds: definition.holds?.(config),
    keepsRows: definition.keepsRows ?? false,
    blocking: definition.blocking ?? false,
    most: definition.most?.(config),
    addsRows: definition.addsRows?.(config) ?? false,
    alone: definition.alone,
    expressions: definition.expressions?.(config) ?? [],
    conditions: (runtime, row) => definition.conditions?.(config, runtime, row) ?? [],
    joins: definition.joins?.(config),
    open: (runtime) => definition.open(config, runtime),
    gate: (tally) => definition.gate?.(config, tally),
    remark: (tally, arrived) => definition.remark?.(config, tally, arrived),
  };
}

/** A sink of a file; what is wrong with it is reported. */
export function planSink(
  entry: Readonly<Record<string, unknown>>,
  index: number,
  { definitions: { steps, sinks }, isPlain, standIns, ...place }: Place & Entries,
  problem: Problem,
): PlannedSink | undefined {
  const chosen = chooseOne(entry, sinks, ['to', index], { name: 'sink', others: steps, below: 'steps' }, problem);
  if (!chosen) return undefined;
  const path = ['to', index, chosen.name];
  const judging = judgingOf(chosen.definition, path, { problem, standIns });
  return bindSink(chosen.definition, givenTo(chosen, path, isPlain), index, place, judging);
}

/** What somebody's own step or sink says of its options, with a value that is unknown, may be about that value. */
function judgingOf({ version }: Pick<StepDefinition, 'version'>, path: Path, { problem, standIns }: Judging): Judging {
  return { problem: version !== undefined && standIns.within(path) ? () => {} : problem, standIns };
}

/** The value of an entry as its definition takes it. */
function givenTo(
  { definition, value }: { readonly definition: Pick<StepDefinition, 'takesTyped'>; readonly value: unknown },
  path: Path,
  isPlain: Entries['isPlain'],
): unknown {
  return definition.takesTyped === true ? typedScalars(value, path, isPlain) : value;
}

function bindSink(
  definition: SinkDefinition,
  value: unknown,
  index: number,
  { baseDir, pipeline }: Place,
  judging: Judging,
): PlannedSink | undefined {
  const at = `to[${index}] ${definition.name}`;
  const config = validated(definition.config(), value, ['to', index, definition.name], judging, definition.examples);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    version: definition.version,
    index,
    at,
    prints: definition.prints ?? false,
    output: definition.output(config, { baseDir, names: unfilled(pipeline) }),
    outputOf: (names) => definition.output(config, { baseDir, names }),
    adds: definition.adds?.(config) ?? false,
    holds: definition.holds?.(config),
    folders: definition.folders?.(config) ?? [],
    check: (columns, plan) => definition.check?.(config, columns, plan),
    writes: (columns) => definition.writes?.(config, columns) ?? outputColumns(config, columns),
    open: (context) => definition.open(config, { ...context, at }),
    rehearse: (context) => definition.rehearse(config, { ...context, at }),
  };
}

/** What stands in a list of the file. */
interface Kind {
  readonly name: string;
  /** What stands in the other list, which is below that key. */
  readonly others: object;
  readonly below: string;
}

/** Steps and sinks are maps of a single key: the name of what they are. */
function chooseOne<D>(
  entry: Readonly<Record<string, unknown>>,
  registry: Readonly<Record<string, D>>,
  path: Path,
  { name: kind, others: elsewhere, below }: Kind,
  problem: Problem,
): { name: string; definition: D; value: unknown } | undefined {
  const [name, ...others] = Object.keys(entry);
  const known = Object.keys(registry);
  if (name === undefined || others.length > 0) {
    problem(path, severalKeys(kind, Object.keys(entry), entry, known));
    return undefined;
  }
  const definition = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (definition === undefined) {
    problem(
      [...path, name],
      Object.hasOwn(elsewhere, name)
        ? `'${name}' is no ${kind}; it stands under ${below}`
        : `${unknownName(kind, name, known)}${meant(name, known) === undefined ? ownNeeds(kind) : ''}`,
      true,
    );
    return undefined;
  }
  return { name, definition, value: entry[name] };
}

/** Where one of that name may come from which leadstream does not have. */
function ownNeeds(kind: string): string {
  return `; one of a plug-in needs --plugin FILE, and in a program the option ${kind}s`;
}

/** Most often the keys of a step stand beside its name instead of below it. */
function severalKeys(kind: string, [name = '', ...others]: readonly string[], entry: object, known: readonly string[]): string {
  const beside = others.map((key) => `'${key}'`).join(', ');
  if (known.includes(name) && Reflect.get(entry, name) === '' && others.length > 0 && !others.some((key) => known.includes(key)))
    return `${beside} ${others.length > 1 ? 'stand' : 'stands'} beside '${name}' and not below it; indent further than '${name}'`;
  const several =
    others.length > 0 && others.every((key) => known.includes(key)) ? `; put '${name}' and ${beside} into entries of their own` : '';
  return `a ${kind} is a map with a single key${several === '' ? `: one of ${known.join(', ')}` : several}`;
}

/** What is known of a run before it. */
export function unfilled(pipeline: string): PathNames {
  return { pipeline, 'run.date': dayTemplate, 'run.id': runTemplate };
}
