import { columnsOf, withheldOf, type Collection, type Registry } from '../collections/index.js';
import { itemAt, unknownName, type Column } from '../core/index.js';
import type { SinkPlan } from '../sinks/index.js';
import type { PlanContext } from '../steps/index.js';
import { checkExpect, checkLists, gatesIn, type Expect } from './expect.js';
import type { Path } from './document.js';
import { dependsOn, isOpen } from './issues.js';
import { planSink, planStep, type StepOfFile, type Entries, type Place, type PlannedSink, type PlannedStep } from './planned.js';
import type { Problem, SpecWarning, Unset } from './references.js';
import type { PipelineShape } from './spec.js';
import { dayTemplate, overlap, runTemplate } from '../store/index.js';

/** The plan of a pipeline. */
export interface Plan {
  readonly collection: Collection;
  /** All available collections. */
  readonly collections: Registry;
  /** Everything that is read: the collection, and the other sides of joins. */
  readonly reads: readonly string[];
  readonly steps: readonly PlannedStep[];
  readonly sinks: readonly PlannedSink[];
  /** The step that ends the read when it has its rows: a limit with no blocking step before it. */
  readonly stoppedBy: PlannedStep | undefined;
  /** Returns the columns that leave the last step, including undeclared ones of the source. */
  columns(undeclared?: readonly Column[]): readonly Column[];
}

/** The part of a file that describes the plan, as far as it can be read; invalid steps and sinks are `undefined`. */
export interface ChainShape extends Partial<Pick<PipelineShape, 'from' | 'reveal' | 'expect'>> {
  readonly steps?: readonly (Readonly<Record<string, unknown>> | undefined)[] | undefined;
  readonly to: readonly (Readonly<Record<string, unknown>> | undefined)[];
}

/** Steps and sinks; invalid ones are `undefined` or missing. */
export interface Chain {
  readonly steps: readonly (StepOfFile | undefined)[];
  readonly sinks: readonly PlannedSink[];
}

/** Receives the findings in a file. */
export interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
  readonly unset: Unset;
  /** Paths of unknown values. */
  readonly unknown: readonly Path[];
}

/** The input for planning steps. */
interface Surroundings {
  readonly hmacKey: string | undefined;
  readonly collections: Registry;
}

/** Checks steps and sinks against their definitions. */
export function bindChain({ steps = [], to }: Pick<ChainShape, 'steps' | 'to'>, place: Place & Entries, problem: Problem): Chain {
  const sinks = to.flatMap((entry, index) => (entry && planSink(entry, index, place, problem)) ?? []);
  refuseSharedOutputs(sinks, problem);
  return { steps: steps.map((entry, index) => entry && planStep(entry, index, place, problem)), sinks };
}

/**
 * Checks steps and sinks against the fields available at each of them.
 *
 * @param findings Receives problems and doubts.
 */
export function planPipeline(
  shape: ChainShape,
  { steps: bound, sinks }: Chain,
  { hmacKey, collections }: Surroundings,
  findings: Findings,
): Plan | undefined {
  const { problem } = findings;
  const collection = collectionOf(shape, collections, problem);
  if (!collection) return undefined;
  const { reveal = [], expect } = shape;
  const setting = { collection, collections, hmacKey, withheld: withheldOf(collection, reveal) };
  const declared = columnsOf(collection, reveal);
  const { arriving, leaving, gone, isKnown } = followed(bound, setting, declared, findings);
  const steps = bound.flatMap((step, index) => (step ? [{ ...step, input: itemAt(arriving, index) }] : []));
  const reads = [...new Set([collection.name, ...steps.flatMap(({ definition, config }) => definition.reads?.(config) ?? [])])];
  if (expect) {
    // A list whose name is unknown may be any.
    if (steps.length === bound.length && reads.every((name) => Object.hasOwn(collections, name))) checkLists(expect, reads, problem);
    refuseLimits(expect, stopOf(steps), problem);
    if (isKnown) checkExpect(expect, { columns: leaving, gone }, problem);
  }
  for (const sink of isKnown ? sinks : []) checkSink(sink, { columns: leaving, key: collection.key, gone }, findings);

  // The name of a dropped column remains taken: an unknown field of that name is left out.
  const taken = new Set(arriving.flat().map(({ name }) => name.toLowerCase()));
  return {
    collection,
    collections,
    reads,
    steps,
    sinks,
    stoppedBy: stopOf(steps),
    columns: (undeclared = []) =>
      followed(bound, setting, [...declared, ...undeclared.filter(({ name }) => !taken.has(name.toLowerCase()))]).leaving,
  };
}

/**
 * Follows columns through the steps of a pipeline, some of which may be invalid.
 *
 * @param findings Receives problems that steps have with the arriving columns.
 * @returns The columns that arrive at each step and finally leave, the step that dropped a field, by field, and whether no unknown value affects them.
 */
function followed(
  steps: Chain['steps'],
  setting: Omit<PlanContext, 'gone' | 'problem' | 'unset' | 'warn'>,
  source: readonly Column[],
  findings?: Findings,
) {
  const gone = new Map<string, string>();
  const arriving = [source];
  let leaving = source;
  let isKnown = !findings || !sourcePaths.some((path) => dependsOn(path, findings.unknown));
  steps.forEach((step, index) => {
    const at = ['steps', index, ...(step ? [step.definition.name] : [])];
    const isJudged = isKnown && !isOpen(at, findings?.unknown ?? []);
    const output = step
      ? step.definition.columns(step.config, leaving, { ...setting, gone, ...tellingOf(at, findings, isJudged) })
      : leaving;
    isKnown &&= isJudged || step?.definition.keepsRows === true;
    if (step) for (const { name } of leaving) gone.set(name, step.at);
    for (const { name } of output) gone.delete(name);
    arriving.push(output);
    leaving = output;
  });
  return { arriving, leaving, gone, isKnown };
}

/** What decides about the columns of everything that is read. */
const sourcePaths: readonly Path[] = [['from'], ['reveal'], ['collections']];

/** Passes on the findings of a step. @param isJudged Whether the step and its columns are known. */
function tellingOf(at: Path, findings: Findings | undefined, isJudged: boolean): Pick<PlanContext, 'problem' | 'unset' | 'warn'> {
  return {
    problem: (path, ...said) => {
      if (isJudged) findings?.problem([...at, ...path], ...said);
    },
    unset: (path, ...said) => findings?.unset([...at, ...path], ...said),
    warn: (path, warning) => {
      if (isJudged) findings?.warn([...at, ...path], warning);
    },
  };
}

/** Checks a sink against the arriving columns, unless one of its values is unknown. */
function checkSink(
  { index, definition, config }: PlannedSink,
  { columns, ...plan }: Omit<SinkPlan, 'problem'> & { readonly columns: readonly Column[] },
  { problem, unknown }: Findings,
): void {
  const at = ['to', index, definition.name];
  if (!isOpen(at, unknown))
    definition.check?.(config, columns, { ...plan, problem: (path, message) => problem([...at, ...path], message) });
}

/** Returns the collection that is read, and checks the fields to reveal. */
function collectionOf({ from, reveal = [] }: ChainShape, collections: Registry, problem: Problem): Collection | undefined {
  if (from === undefined) return undefined;
  const collection = Object.hasOwn(collections, from) ? collections[from] : undefined;
  if (!collection) {
    problem(['from'], unknownName('collection', from, Object.keys(collections)));
    return undefined;
  }
  const known = Object.keys(collection.fields);
  reveal.forEach((name, index) => {
    if (!known.includes(name)) problem(['reveal', index], unknownName('field', name, known));
  });
  return collection;
}

/** Returns the first step that has a limit and no blocking step before it. */
function stopOf(steps: readonly PlannedStep[]): PlannedStep | undefined {
  const blocking = steps.findIndex(({ definition }) => definition.blocking);
  return steps.slice(0, blocking < 0 ? steps.length : blocking).find(({ definition }) => definition.most !== undefined);
}

/** Reports expectations that compare whole reads where a limit stops the read. */
function refuseLimits(expect: Expect, stop: PlannedStep | undefined, problem: Problem): void {
  for (const { name, judges } of stop ? gatesIn(expect) : [])
    if (judges !== 'rows')
      problem(
        ['expect', name],
        `${name} compares whole reads, and ${stop?.at} stops this one; remove one of them, or put the limit after a sort, which reads everything`,
        true,
      );
}

/** Reports each sink that writes over or into the output of an earlier one. */
function refuseSharedOutputs(planned: readonly PlannedSink[], problem: Problem): void {
  planned.forEach(({ output, index, definition: { prints, name } }) => {
    const first = planned.find((other) =>
      prints ? other.definition.prints : output !== undefined && other.output !== undefined && collide(other.output, output),
    );
    if (!first || first.index >= index) return;
    const message = prints ? 'only one sink can write to stdout' : `to[${first.index}] writes to the same or an overlapping path`;
    problem(['to', index, name], message);
  });
}

/** Returns whether writing one absolute path would write over or into the other, on any day and through any links that exist now. */
export function collide(a: string, b: string): boolean {
  const days = ['2000-01-01', ...[a, b].flatMap((path) => path.match(/\d{4}-\d{2}-\d{2}/g) ?? [])];
  return days.some((day) => overlap(a.replaceAll(dayTemplate, day), b.replaceAll(dayTemplate, day)));
}

/** Returns whether two absolute paths of different runs collide: no two runs have the same id. `undefined` is stdout. */
export function collideAcrossRuns(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return !(a.includes(runTemplate) && b.includes(runTemplate)) && collide(a, b);
}
