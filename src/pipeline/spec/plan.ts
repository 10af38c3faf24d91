import type { Collection, Registry } from '../../collections/index.js';
import { itemAt, unknownName, type Column } from '../../core/index.js';
import { checkExpect } from '../gates/expect.js';
import { refuseSharedOutputs } from './collide.js';
import { ColumnFlow, type Findings } from './column-flow.js';
import { refuseLimits, stopOf } from './limits.js';
import type { Definitions } from './definitions.js';
import type { Path } from './document.js';
import { planSink, planStep, type Place, type PlannedSink, type PlannedStep } from './planned.js';
import type { Problem } from './references.js';
import type { PipelineShape } from './spec.js';

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

/** What a file says of the chain. */
type ChainShape = Pick<PipelineShape, 'from' | 'reveal' | 'steps' | 'to'> & Partial<Pick<PipelineShape, 'expect'>>;

/** Where a pipeline belongs, and what it can be made of. */
interface Surroundings extends Place {
  readonly hmacKey: string | undefined;
  readonly definitions: Definitions;
  readonly collections: Registry;
  /** Whether a scalar of the file stands there without quotes. */
  isPlain(path: Path): boolean;
}

/**
 * Checks steps and sinks against their definitions and the fields that are known at each of them.
 *
 * @param findings Takes what is wrong, and what is right and probably not meant.
 */
export function planPipeline(
  shape: ChainShape,
  { hmacKey, definitions, collections, isPlain, ...place }: Surroundings,
  findings: Findings,
): Plan | undefined {
  const { problem } = findings;
  const collection = collectionOf(shape, collections, problem);
  if (!collection) return undefined;
  const { reveal = [] } = shape;
  const bound = (shape.steps ?? []).map((entry, index) => planStep(entry, { definitions, isPlain }, index, problem));
  const sinks = shape.to.flatMap((entry, index) => planSink(entry, index, { ...place, definitions, isPlain }, problem) ?? []);
  refuseSharedOutputs(sinks, problem);

  const flow = new ColumnFlow(bound, { collection, collections, reveal, hmacKey });
  const { arriving, leaving, gone } = flow.follow(flow.columnsWith(), findings);
  const steps = bound.flatMap((step, index) => (step ? [{ ...step, input: itemAt(arriving, index) }] : []));
  const reads = [...new Set([shape.from, ...steps.flatMap((step) => step.reads ?? [])])];
  if (shape.expect) checkExpect(shape.expect, { columns: leaving, gone }, reads, problem);
  for (const { index, name, check } of sinks) {
    check(leaving, { key: collection.key, gone, problem: (path, message) => problem(['to', index, name, ...path], message) });
  }
  if (shape.expect) refuseLimits(shape.expect, steps, problem);

  // A name that a step gives away is taken: an unknown field of that name stays out.
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

/** The collection that is read, with the fields that are to be revealed. */
function collectionOf({ from, reveal = [] }: ChainShape, collections: Registry, problem: Problem): Collection | undefined {
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
