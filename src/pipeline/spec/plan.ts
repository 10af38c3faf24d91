import { columnsOf, type Collection, type Registry } from '../../collections/index.js';
import { type Column, type Warning, unknownName, type OutputColumn } from '../../core/index.js';
import type { Step, Tally } from '../../flow/index.js';
import { dayTemplate, runTemplate, type PathNames } from '../../store/index.js';
import { sinks, type SinkContext, type SinkDefinition, type SinkPlan, type SinkWriter } from '../../sinks/index.js';
import type {
  ConfigPath,
  PlanContext,
  StepDefinition,
  StepDefinitions,
  StepRemark,
  StepRuntime,
  StepViolation,
} from '../../steps/index.js';
import { refuseSharedOutputs } from './collide.js';
import type { Path } from './document.js';
import { checkExpect } from '../gates/expect.js';
import { refuseLimits, stopOf } from './limits.js';
import type { Problem, SpecWarning } from './references.js';
import { outputColumns } from '../gates/schema.js';
import type { PipelineShape } from './spec.js';
import { validated } from './validate.js';

/** A step of a pipeline file with its configuration inside. */
interface BoundStep {
  readonly name: string;
  /** Name in messages and reports, like `steps[1] derive`. */
  readonly at: string;
  columns(input: readonly Column[], plan: PlanContext): readonly Column[];
  /** The other collection that it reads. */
  readonly reads: string | undefined;
  open(runtime: StepRuntime): Step;
  /** Whether every row that leaves it is one that came, as it was, and none twice. */
  readonly keepsRows: boolean;
  /** Whether it takes all rows before it gives the first. */
  readonly blocking: boolean;
  /** Most rows that leave it, where it says so. */
  readonly most: number | undefined;
  /** Whether more rows can leave it than come. */
  readonly addsRows: boolean;
  gate(tally: Tally): StepViolation | undefined;
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
  /** Place in the list of the file, from 0. */
  readonly index: number;
  /** Name in messages and reports, like `to[0] parquet`. */
  readonly at: string;
  /** Absolute path that is published, as far as it is known before a run: its day and its id stay in braces. None for stdout. */
  readonly output: string | undefined;
  /** The path that a run publishes. */
  outputOf(names: PathNames): string | undefined;
  /** Whether the rows are added to those of an output that exists. */
  readonly adds: boolean;
  check(columns: readonly Column[], plan: SinkPlan): void;
  /** The columns that it writes when these arrive. */
  writes(columns: readonly Column[]): readonly OutputColumn[];
  open(context: Omit<SinkContext, 'at'>): Promise<SinkWriter>;
}

/** Where a pipeline belongs. */
interface Place {
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** Its name. */
  readonly pipeline: string;
}

/** What is said of a place. */
type Said = Parameters<Problem> extends [unknown, ...infer Rest] ? Rest : never;

/** Takes what is found in a file. */
interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
}

/** What a chain is made of. */
export interface Plan {
  readonly collection: Collection;
  /** What collections there are. */
  readonly collections: Registry;
  /** All that is read: that collection, and the other sides of joins. */
  readonly reads: readonly string[];
  readonly steps: readonly PlannedStep[];
  readonly sinks: readonly PlannedSink[];
  /** The step that ends the read when it has its rows: a limit with no blocking step before it. */
  readonly stoppedBy: PlannedStep | undefined;
  /** The columns that leave the last step, with undeclared ones of the source added. */
  columns(undeclared?: readonly Column[]): readonly Column[];
}

/**
 * Checks steps and sinks against their definitions and the fields that are known at each of them.
 *
 * @param findings Takes what is wrong, and what is right and probably not meant.
 */
export function planPipeline(
  shape: Pick<PipelineShape, 'from' | 'reveal' | 'steps' | 'to'> & Partial<Pick<PipelineShape, 'expect'>>,
  {
    hmacKey,
    steps,
    collections,
    ...place
  }: Place & { readonly hmacKey: string | undefined; readonly steps: StepDefinitions; readonly collections: Registry },
  findings: Findings,
): Plan | undefined {
  const { problem } = findings;
  const found = Object.hasOwn(collections, shape.from) ? collections[shape.from] : undefined;
  if (found === undefined) {
    problem(['from'], unknownName('collection', shape.from, Object.keys(collections)));
    return undefined;
  }
  const collection: Collection = found;
  const reveal = shape.reveal ?? [];
  reveal.forEach((name, index) => {
    if (!Object.hasOwn(collection.fields, name)) problem(['reveal', index], unknownName('field', name, Object.keys(collection.fields)));
  });
  const boundSteps = (shape.steps ?? []).map((entry, index) => planStep(entry, steps, index, problem));
  const plannedSinks = shape.to.flatMap((entry, index) => planSink(entry, index, place, problem) ?? []);
  refuseSharedOutputs(plannedSinks, problem);

  /** The step that did not pass a field on, by the field. */
  const gone = new Map<string, string>();

  /** Follows the columns through the steps; gives those that arrive at each step, and last those that leave the chain. */
  function follow(source: readonly Column[], found?: Findings) {
    const arriving: (readonly Column[])[] = [source];
    gone.clear();
    boundSteps.forEach((step, index) => {
      const input = arriving.at(-1) ?? source;
      const context = {
        gone,
        collection,
        collections,
        reveal,
        hmacKey,
        problem: (path: ConfigPath, ...said: Said) => step && found?.problem(['steps', index, step.name, ...path], ...said),
        warn: (path: ConfigPath, warning: Warning) => step && found?.warn(['steps', index, step.name, ...path], warning),
      };
      const output = step ? step.columns(input, context) : input;
      for (const { name } of input) if (step) gone.set(name, step.at);
      for (const { name } of output) gone.delete(name);
      arriving.push(output);
    });
    return arriving;
  }

  const arriving = follow(columnsOf(collection, reveal), findings);
  const leaving = arriving.at(-1) ?? [];
  const reads = [...new Set([shape.from, ...boundSteps.flatMap((step) => step?.reads ?? [])])];
  if (shape.expect) checkExpect(shape.expect, { columns: leaving, gone }, reads, problem);
  for (const { index, name, check } of plannedSinks) {
    check(leaving, { key: collection.key, gone, problem: (path, message) => problem(['to', index, name, ...path], message) });
  }

  const plannedSteps = boundSteps.flatMap((step, index) => (step ? [{ ...step, input: arriving[index] ?? [] }] : []));
  if (shape.expect) refuseLimits(shape.expect, plannedSteps, problem);

  return {
    collection,
    collections,
    reads,
    steps: plannedSteps,
    sinks: plannedSinks,
    stoppedBy: stopOf(plannedSteps),
    columns: (undeclared = []) => {
      // A name that a step gives away is taken: an unknown field of that name stays out.
      const taken = new Set(arriving.flat().map(({ name }) => name.toLowerCase()));
      const free = undeclared.filter(({ name }) => !taken.has(name.toLowerCase()));
      return follow([...columnsOf(collection, reveal), ...free]).at(-1) ?? [];
    },
  };
}

function planStep(
  entry: Readonly<Record<string, unknown>>,
  steps: StepDefinitions,
  index: number,
  problem: Problem,
): BoundStep | undefined {
  const chosen = chooseOne(entry, steps, ['steps', index], 'step', problem);
  if (!chosen) return undefined;
  return bindStep(chosen.definition, chosen.value, ['steps', index, chosen.name], `steps[${index}] ${chosen.name}`, problem);
}

function bindStep(definition: StepDefinition, value: unknown, path: Path, at: string, problem: Problem): BoundStep | undefined {
  const config = validated(definition.config(), value, path, problem, definition.examples);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    at,
    columns: (input, plan) => definition.columns(config, input, plan),
    reads: definition.reads?.(config),
    keepsRows: definition.keepsRows ?? false,
    blocking: definition.blocking ?? false,
    most: definition.most?.(config),
    addsRows: definition.addsRows?.(config) ?? false,
    open: (runtime) => definition.open(config, runtime),
    gate: (tally) => definition.gate?.(config, tally),
    remark: (tally, arrived) => definition.remark?.(config, tally, arrived),
  };
}

function planSink(entry: Readonly<Record<string, unknown>>, index: number, place: Place, problem: Problem): PlannedSink | undefined {
  const chosen = chooseOne(entry, sinks, ['to', index], 'sink', problem);
  if (!chosen) return undefined;
  return bindSink(chosen.definition, chosen.value, index, place, problem);
}

function bindSink(
  definition: SinkDefinition,
  value: unknown,
  index: number,
  { baseDir, pipeline }: Place,
  problem: Problem,
): PlannedSink | undefined {
  const at = `to[${index}] ${definition.name}`;
  const config = validated(definition.config(), value, ['to', index, definition.name], problem, definition.examples);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    index,
    at,
    output: definition.output(config, { baseDir, names: unfilled(pipeline) }),
    outputOf: (names) => definition.output(config, { baseDir, names }),
    adds: definition.adds?.(config) ?? false,
    check: (columns, plan) => definition.check?.(config, columns, plan),
    writes: (columns) => outputColumns(config, columns),
    open: (context) => definition.open(config, { ...context, at }),
  };
}

/** Steps and sinks are maps of a single key: the name of what they are. */
function chooseOne<D>(
  entry: Readonly<Record<string, unknown>>,
  registry: Readonly<Record<string, D>>,
  path: Path,
  kind: string,
  problem: Problem,
): { name: string; definition: D; value: unknown } | undefined {
  const [name, ...others] = Object.keys(entry);
  const known = Object.keys(registry);
  if (name === undefined || others.length > 0) {
    problem(path, `a ${kind} is a map with a single key: one of ${known.join(', ')}`);
    return undefined;
  }
  const definition = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (definition === undefined) {
    problem([...path, name], unknownName(kind, name, known), true);
    return undefined;
  }
  return { name, definition, value: entry[name] };
}

/** What is known of a run before it. */
export function unfilled(pipeline: string): PathNames {
  return { pipeline, 'run.date': dayTemplate, 'run.id': runTemplate };
}
