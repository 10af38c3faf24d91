import { columnsOf, withheldOf, type Collection, type Registry } from '../collections/index.js';
import { itemAt, undeclaredColumn, unknownName, type Column } from '../core/index.js';
import type { SinkDefinition } from '../sinks/index.js';
import { getIn } from '../options/index.js';
import { hasPageNumbers } from '../source/index.js';
import { planCondition, Queries, type PlanContext, type StepDefinition } from '../steps/index.js';
import { dayTemplate, overlap, runTemplate, type PathNames } from '../store/index.js';
import type { Definitions } from './definitions.js';
import type { Path } from './document.js';
import { checkExpect, outputGates, type Expect } from './expect.js';
import { validated, type IssueList, type Problem } from './issues.js';
import type { PipelineShape } from './spec.js';

export interface PlannedStep {
  readonly at: string;
  readonly definition: StepDefinition;
  readonly config: unknown;
  readonly input: readonly Column[];
}

export interface PlannedSink {
  readonly at: string;
  readonly index: number;
  readonly definition: SinkDefinition;
  readonly config: unknown;
  /** Absolute path of the output, with placeholders for day and run id. */
  readonly output: string | undefined;
  /** What identifies a table of a database. */
  readonly place: string | undefined;
  /** Condition of the rows that are written. The option of this name of a custom sink is its own. */
  readonly where: string | undefined;
}

export interface Plan {
  readonly collection: Collection;
  readonly collections: Registry;
  /** All lists that are read: the collection, and the other sides of joins. */
  readonly reads: readonly string[];
  readonly steps: readonly PlannedStep[];
  readonly sinks: readonly PlannedSink[];
  /** What leaves a part of the list unread: `pages`, or a limit without a blocking step before it, once it has its rows. */
  readonly stoppedBy: Pick<PlannedStep, 'at'> | undefined;
  /** Returns the columns that leave the last step, including undeclared ones of the source. */
  columns(undeclared?: readonly Column[]): readonly Column[];
}

type Entry = Readonly<Record<string, unknown>>;

/** The part of a file that describes the plan; invalid steps and sinks are `undefined`. */
export interface ChainShape extends Partial<Pick<PipelineShape, 'from' | 'reveal' | 'expect' | 'pages' | 'since'>> {
  readonly steps?: readonly (Entry | undefined)[] | undefined;
  readonly to: readonly (Entry | undefined)[];
}

export interface Chain {
  readonly steps: readonly (Omit<PlannedStep, 'input'> | undefined)[];
  readonly sinks: readonly PlannedSink[];
}

interface Surroundings {
  readonly definitions: Definitions;
  readonly baseDir: string;
  readonly pipeline: string;
  isPlain(path: Path): boolean;
}

export function bindChain({ steps = [], to }: ChainShape, around: Surroundings, problem: Problem): Chain {
  const { definitions, baseDir, pipeline } = around;
  const sinks = to.flatMap((entry, index): readonly PlannedSink[] => {
    const bound = entry && bindEntry(entry, ['to', index], definitions.sinks, around, problem);
    const output = bound?.definition.output(bound.config, { baseDir, names: unfilled(pipeline) });
    if (!bound) return [];
    const { definition, config } = bound;
    const where = definition.version === undefined ? getIn(config, ['where']) : undefined;
    return [{ ...bound, index, output, place: definition.place?.(config), where: typeof where === 'string' ? where : undefined }];
  });
  // Databases commit first: only there may the answer to a commit be lost for good.
  sinks.sort((a, b) => Number(a.place === undefined) - Number(b.place === undefined));
  const bound = steps.map((entry, index) => entry && bindEntry(entry, ['steps', index], definitions.steps, around, problem));
  const variantOf = ({ definition, config }: Omit<PlannedStep, 'input'>) => definition.variant?.(config) ?? definition;
  return { steps: bound.map((step) => step && { ...step, definition: variantOf(step) }), sinks };
}

function bindEntry<D extends Pick<StepDefinition, 'config' | 'version'>>(
  entry: Entry,
  [list, index]: readonly ['steps' | 'to', number],
  registry: Readonly<Record<string, D>>,
  { definitions: { steps, sinks }, isPlain }: Surroundings,
  problem: Problem,
): { readonly at: string; readonly definition: D; readonly config: unknown } | undefined {
  const [kind, elsewhere, below] = list === 'steps' ? ['step', sinks, 'to'] : ['sink', steps, 'steps'];
  const [name, ...others] = Object.keys(entry);
  if (name === undefined || others.length > 0) {
    problem([list, index], `a ${kind} must be a map with one key, its name; indent its options below the name`);
    return undefined;
  }
  const path = [list, index, name];
  const definition = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (definition === undefined) {
    const message = Object.hasOwn(elsewhere, name)
      ? `'${name}' is not a ${kind}; it belongs under ${below}`
      : unknownName(kind, name, [...Object.keys(registry), 'those of --plugin FILE']);
    problem(path, message, true);
    return undefined;
  }
  // A custom step or sink gets numbers, flags and `null`, others get the file's texts.
  const value = definition.version === undefined ? entry[name] : typedScalars(entry[name], path, isPlain);
  const config = validated<unknown>(definition.config(), value, path, problem);
  return config === undefined ? undefined : { at: `${list}[${index}] ${name}`, definition, config };
}

/** Checks steps and sinks against the fields that reach them. Nothing is reported where these depend on an unknown value. */
export async function planPipeline(
  { from, reveal = [], expect, pages, since }: ChainShape,
  { steps: bound, sinks }: Chain,
  { hmacKey, collections }: { readonly hmacKey: string | undefined; readonly collections: Registry },
  issues: IssueList,
): Promise<Plan | undefined> {
  const { problem } = issues;
  const collection = from === undefined ? undefined : collectionNamed(from, reveal, collections, problem);
  if (!collection) return undefined;
  const queries = new Queries();
  const setting = { collection, collections, queries, hmacKey, withheld: withheldOf(collection, reveal), isSince: since !== undefined };
  const declared = columnsOf(collection, reveal);
  for (const [index, step] of bound.entries())
    await step?.definition.prepare?.(step.config, followed(bound.slice(0, index), setting, declared).leaving, queries);
  const { arriving, leaving, known } = followed(bound, setting, declared, { issues, known: knownSteps(bound, issues.unknown) });
  const steps = bound.flatMap((step, index) => (step ? [{ ...step, input: itemAt(arriving, index) }] : []));
  const reads = [...new Set([collection.name, ...steps.flatMap(({ definition, config }) => definition.reads?.(config) ?? [])])];
  const blocking = steps.findIndex(({ definition }) => definition.blocking);
  const limit = steps.slice(0, blocking < 0 ? steps.length : blocking).find(({ definition }) => definition.most !== undefined);
  const stoppedBy = pages ? { at: `pages ${pages.text}` } : limit;
  if (pages && !hasPageNumbers(collection)) problem(['pages'], `${collection.name} has no page numbers; use the step limit`, true);
  // A list with an unknown name may be any list.
  const areListsKnown = steps.length === bound.length && reads.every((name) => Object.hasOwn(collections, name));
  if (expect) {
    refuseLimits(expect, stoppedBy, problem);
    checkExpect(expect, { columns: known === Infinity ? leaving : undefined, reads: areListsKnown ? reads : undefined }, problem);
  }
  for (const { index, definition, config, where } of known === Infinity ? sinks : []) {
    const at = ['to', index, definition.name];
    if (where !== undefined) planCondition(where, leaving, { ...setting, problem, warn: issues.warn, note: issues.note }, [...at, 'where']);
    const isOpen = issues.unknown.some(([list, entry, , key]) => list === 'to' && entry === index && key !== 'path');
    const apart = steps.find(({ definition }) => setsApart.includes(definition.name))?.at;
    const plan = { key: collection.key, apart, problem: (path: Path, message: string) => problem([...at, ...path], message) };
    if (!isOpen) definition.check?.(config, leaving, plan);
  }

  // A dropped column keeps its name: an unknown field of that name is left out.
  const used = new Set(arriving.flat().map(({ name }) => name.toLowerCase()));
  const columns: Plan['columns'] = (undeclared = []) =>
    followed(bound, setting, [...declared, ...undeclared.filter(({ name }) => !used.has(name.toLowerCase()))]).leaving;
  const last = arriving.findIndex((each, index) => index > 0 && each.length === 0) - 1;
  // A pipeline may exist only for its undeclared fields.
  if (known === Infinity && last >= 0 && columns([undeclaredColumn('undeclared')]).length === 0)
    problem(['steps', last, itemAt(steps, last).definition.name], 'no column is left after this step; keep at least one', true);
  return { collection, collections, reads, steps, sinks, stoppedBy, columns };
}

/** Steps that leave out some rows of the list without looking at them, or make others of them. */
const setsApart: readonly string[] = ['explode', 'aggregate', 'sql', 'limit', 'sample'];

/** Returns how many of the first steps do not depend on unknown values; Infinity for all. */
function knownSteps(steps: Chain['steps'], unknown: readonly Path[]): number {
  if (unknown.some(([key]) => key === 'from' || key === 'reveal' || key === 'collections')) return 0;
  const first = steps.findIndex((step, index) => {
    return step?.definition.keepsRows !== true && unknown.some(([key, entry]) => key === 'steps' && entry === index);
  });
  return first < 0 ? Infinity : first;
}

/** @returns The columns at each step and at the end, and how many first steps are known. */
function followed(
  steps: Chain['steps'],
  setting: Omit<PlanContext, 'problem' | 'unset' | 'warn' | 'note'>,
  source: readonly Column[],
  reporting?: { readonly issues: IssueList; readonly known: number },
) {
  const arriving = [source];
  let leaving = source;
  let known = reporting?.known ?? Infinity;
  steps.forEach((step, index) => {
    if (step) {
      const at = ['steps', index, step.definition.name];
      const judging = index < known ? reporting?.issues : undefined;
      const output = step.definition.columns(step.config, leaving, {
        ...setting,
        problem: (path, message, onKey) => judging?.problem([...at, ...path], message, onKey),
        unset: (path, name, message) => reporting?.issues.unsetProblem([...at, ...path], name, message),
        warn: (path, warning) => judging?.warn([...at, ...path], warning),
        note: (path, sentence) => judging?.note([...at, ...path], sentence),
      });
      if (output === undefined) known = Math.min(known, index);
      leaving = output ?? [];
    }
    arriving.push(leaving);
  });
  return { arriving, leaving, known };
}

function collectionNamed(from: string, reveal: readonly string[], collections: Registry, problem: Problem): Collection | undefined {
  const collection = Object.hasOwn(collections, from) ? collections[from] : undefined;
  if (!collection) problem(['from'], unknownName('collection', from, Object.keys(collections)));
  const known = Object.keys(collection?.fields ?? {});
  reveal.forEach((name, index) => {
    if (collection && !known.includes(name)) problem(['reveal', index], unknownName('field', name, known));
  });
  return collection;
}

function refuseLimits(expect: Expect, stop: Plan['stoppedBy'], problem: Problem): void {
  for (const name of [...outputGates, 'max_read_shrink'] as const)
    if (stop && expect[name] !== undefined)
      problem(
        ['expect', name],
        `${name} compares whole reads, and ${stop.at} stops this one; remove one of them, or let a limit follow a sort, which reads everything`,
        true,
      );
}

/** Returns whether writing one absolute path would write over or into the other, on any day, through any links. stdout is `undefined`. */
export function collide(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const days = ['2000-01-01', ...[a, b].flatMap((path) => path.match(/\d{4}-\d{2}-\d{2}/g) ?? [])];
  return days.some((day) => overlap(a.replaceAll(dayTemplate, day), b.replaceAll(dayTemplate, day)));
}

/** Returns the same for two runs, which never have the same id. */
export function collideAcrossRuns(a: string | undefined, b: string | undefined): boolean {
  return !(a?.includes(runTemplate) && b?.includes(runTemplate)) && collide(a, b);
}

export function unfilled(pipeline: string): PathNames {
  return { pipeline, 'run.date': dayTemplate, 'run.id': runTemplate };
}

/** Converts `true`, `false`, `null` (also an empty value) and JSON numbers, unless they are quoted or would lose digits. */
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
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}
