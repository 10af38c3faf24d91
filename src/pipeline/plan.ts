import { collections, columnsOf, nearest, type Collection, type Column } from '../collections/index.js';
import type { Step, Tally } from '../flow/index.js';
import { sinks, type OutputColumn, type SinkContext, type SinkDefinition, type SinkPlan, type SinkWriter } from '../sinks/index.js';
import { steps, type PlanContext, type StepDefinition, type StepRuntime } from '../steps/index.js';
import type { Path } from './document.js';
import { checkExpect } from './expect.js';
import type { Problem } from './references.js';
import { outputColumns } from './schema.js';
import type { PipelineShape } from './spec.js';
import { validated, withNearest } from './validate.js';

/** A step of a pipeline file with its configuration inside. */
interface BoundStep {
  readonly name: string;
  /** Name in messages and reports, like `steps[1] derive`. */
  readonly at: string;
  columns(input: readonly Column[], plan: PlanContext): readonly Column[];
  open(runtime: StepRuntime): Step;
  gate(tally: Tally): string | undefined;
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
  /** Absolute path that is published; none for stdout. */
  readonly output: string | undefined;
  check(columns: readonly Column[], plan: SinkPlan): void;
  /** The columns that it writes when these arrive. */
  writes(columns: readonly Column[]): readonly OutputColumn[];
  open(context: Omit<SinkContext, 'at'>): Promise<SinkWriter>;
}

/** What a chain is made of. */
export interface Plan {
  readonly collection: Collection;
  readonly steps: readonly PlannedStep[];
  readonly sinks: readonly PlannedSink[];
  /** The columns that leave the last step, with undeclared ones of the source added. */
  columns(undeclared?: readonly Column[]): readonly Column[];
}

/** Checks steps and sinks against their definitions and the fields that are known at each of them. */
export function planPipeline(
  shape: Pick<PipelineShape, 'from' | 'reveal' | 'steps' | 'to'> & Partial<Pick<PipelineShape, 'expect'>>,
  { baseDir, hmacKey }: { readonly baseDir: string; readonly hmacKey: string | undefined },
  problem: Problem,
): Plan {
  const collection = collections[shape.from];
  const reveal = shape.reveal ?? [];
  reveal.forEach((name, index) => {
    if (!Object.hasOwn(collection.fields, name))
      problem(['reveal', index], withNearest(`unknown field '${name}'`, name, Object.keys(collection.fields)));
  });
  const boundSteps = (shape.steps ?? []).map((entry, index) => planStep(entry, index, problem));
  const plannedSinks = shape.to.flatMap((entry, index) => planSink(entry, index, baseDir, problem) ?? []);
  refuseSharedOutputs(plannedSinks, problem);

  /** Follows the columns through the steps; gives those that arrive at each step, and last those that leave the chain. */
  function follow(source: readonly Column[], report: (step: BoundStep, index: number, ...problem: Parameters<Problem>) => void) {
    const arriving: (readonly Column[])[] = [source];
    boundSteps.forEach((step, index) => {
      const input = arriving.at(-1) ?? source;
      const context = {
        collection,
        reveal,
        hmacKey,
        problem: (...told: Parameters<Problem>) => step && report(step, index, ...told),
      };
      arriving.push(step ? step.columns(input, context) : input);
    });
    return arriving;
  }

  const arriving = follow(columnsOf(collection, reveal), ({ name }, index, path, ...told) =>
    problem(['steps', index, name, ...path], ...told),
  );
  const leaving = arriving.at(-1) ?? [];
  if (shape.expect) checkExpect(shape.expect, leaving, problem);
  for (const { index, name, check } of plannedSinks) {
    check(leaving, { key: collection.key, problem: (path, message) => problem(['to', index, name, ...path], message) });
  }

  return {
    collection,
    steps: boundSteps.flatMap((step, index) => (step ? [{ ...step, input: arriving[index] ?? [] }] : [])),
    sinks: plannedSinks,
    columns: (undeclared = []) => {
      // A name that a step gives away is taken: an unknown field of that name stays out.
      const taken = new Set(arriving.flat().map(({ name }) => name.toLowerCase()));
      const free = undeclared.filter(({ name }) => !taken.has(name.toLowerCase()));
      return follow([...columnsOf(collection, reveal), ...free], () => {}).at(-1) ?? [];
    },
  };
}

function planStep(entry: Readonly<Record<string, unknown>>, index: number, problem: Problem): BoundStep | undefined {
  const chosen = chooseOne(entry, steps, ['steps', index], 'step', problem);
  if (!chosen) return undefined;
  return bindStep(chosen.definition, chosen.value, ['steps', index, chosen.name], `steps[${index}] ${chosen.name}`, problem);
}

function bindStep(definition: StepDefinition, value: unknown, path: Path, at: string, problem: Problem): BoundStep | undefined {
  const config = validated(definition.config, value, path, problem);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    at,
    columns: (input, plan) => definition.columns(config, input, plan),
    open: (runtime) => definition.open(config, runtime),
    gate: (tally) => definition.gate?.(config, tally),
  };
}

function planSink(entry: Readonly<Record<string, unknown>>, index: number, baseDir: string, problem: Problem): PlannedSink | undefined {
  const chosen = chooseOne(entry, sinks, ['to', index], 'sink', problem);
  if (!chosen) return undefined;
  return bindSink(chosen.definition, chosen.value, index, baseDir, problem);
}

function bindSink(definition: SinkDefinition, value: unknown, index: number, baseDir: string, problem: Problem): PlannedSink | undefined {
  const at = `to[${index}] ${definition.name}`;
  const config = validated(definition.config, value, ['to', index, definition.name], problem);
  if (config === undefined) return undefined;
  return {
    name: definition.name,
    index,
    at,
    output: definition.output(config, baseDir),
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
    const near = nearest(name, known);
    problem(
      [...path, name],
      near === undefined
        ? `unknown ${kind} '${name}'; there are ${known.join(', ')}`
        : `unknown ${kind} '${name}', did you mean '${near}'?`,
      true,
    );
    return undefined;
  }
  return { name, definition, value: entry[name] };
}

/** Whether writing one path would write over or into the other. */
export function collide(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

function refuseSharedOutputs(planned: readonly PlannedSink[], problem: Problem): void {
  planned.forEach(({ output, index, name }) => {
    const first = planned.find((other) =>
      output === undefined ? other.output === undefined : other.output !== undefined && collide(other.output, output),
    );
    if (!first || first.index >= index) return;
    const message =
      output === undefined ? 'only one sink can write to stdout' : `to[${first.index}] writes to the same path, or one within`;
    problem(['to', index, name], message);
  });
}
