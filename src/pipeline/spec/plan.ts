import type { Collection, Registry } from '../../collections/index.js';
import { amount, amountOf, itemAt, unknownName, type Column } from '../../core/index.js';
import type { SinkPlan } from '../../sinks/index.js';
import { checkExpect, checkLists, gatesIn, type Expect } from '../gates/expect.js';
import { refuseSharedOutputs } from './collide.js';
import { ColumnFlow, type Findings } from './column-flow.js';
import { isOpen } from './issue-list.js';
import { planSink, planStep, type BoundStep, type Entries, type Place, type PlannedSink, type PlannedStep } from './planned.js';
import type { Problem } from './references.js';
import type { PipelineShape } from './spec.js';

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
  readonly steps: readonly (BoundStep | undefined)[];
  readonly sinks: readonly PlannedSink[];
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
  return { steps: steps.map((entry, index) => entry && planStep(entry, place, index, problem)), sinks };
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
  const flow = new ColumnFlow(bound, { collection, collections, reveal, hmacKey });
  const { arriving, leaving, gone, isKnown } = flow.follow(flow.columnsWith(), findings);
  const steps = bound.flatMap((step, index) => (step ? [{ ...step, input: itemAt(arriving, index) }] : []));
  const reads = [...new Set([collection.name, ...steps.flatMap((step) => step.reads ?? [])])];
  if (expect) {
    const isBound = steps.length === bound.length;
    // A list whose name is unknown may be any.
    if (isBound && reads.every((name) => Object.hasOwn(collections, name))) checkLists(expect, reads, problem);
    if (isBound) refuseLimits(expect, steps, problem);
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
    columns: (undeclared = []) => flow.follow(flow.columnsWith(undeclared.filter(({ name }) => !taken.has(name.toLowerCase())))).leaving,
  };
}

/** Checks a sink against the arriving columns, unless one of its values is unknown. */
function checkSink(
  { index, name, check }: PlannedSink,
  { columns, ...plan }: Omit<SinkPlan, 'problem'> & { readonly columns: readonly Column[] },
  { problem, unknown }: Findings,
): void {
  const at = ['to', index, name];
  if (!isOpen(at, unknown)) check(columns, { ...plan, problem: (path, message) => problem([...at, ...path], message) });
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
  const blocking = steps.findIndex(({ blocking }) => blocking);
  return steps.slice(0, blocking < 0 ? steps.length : blocking).find(({ most }) => most !== undefined);
}

/** Reports expectations that need more rows than limits allow. */
function refuseLimits(expect: Expect, steps: readonly PlannedStep[], problem: Problem): void {
  const stop = stopOf(steps);
  for (const gate of gatesIn(expect)) {
    if (gate.judges === 'rows') steps.forEach((step, index) => refuseFewer(gate, step, steps.slice(index + 1), problem));
    else if (stop) {
      const message = `${gate.name} compares whole reads, and ${stop.at} stops this one; remove one of them, or put the limit after a sort, which reads everything`;
      problem(['expect', gate.name], message, true);
    }
  }
}

/** Reports a gate that needs more rows than a step passes, unless a later step adds some. */
function refuseFewer(
  { name, fewest }: { readonly name: string; readonly fewest: number },
  { at, most = Infinity }: PlannedStep,
  later: readonly PlannedStep[],
  problem: Problem,
): void {
  if (fewest <= most || later.some(({ addsRows }) => addsRows)) return;
  const message = `${at} passes at most ${amountOf(most, 'row')}, so there are never ${amount(fewest)}; lower ${name} or raise the limit`;
  problem(['expect', name], message);
}
