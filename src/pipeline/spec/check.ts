import { defined } from '../../core/index.js';
import { getIn } from '../../options/index.js';
import type { PathNames } from '../../store/index.js';
import { outputAt } from '../../sinks/index.js';
import { checkTests } from './check-tests.js';
import { collide } from './collide.js';
import { connectionOf } from './connection.js';
import type { Definitions } from './definitions.js';
import type { Path, SpecDocument } from './document.js';
import { hooksOf, type Hooks } from './hooks.js';
import { IssueList, WarningList, type Doubt, type FileContext, type Issue } from './issue-list.js';
import { pipelineOf, type Pipeline } from './pipeline.js';
import { partsOf, type Parts } from './parts.js';
import { bindChain, planPipeline, type Chain, type Plan } from './plan.js';
import { unfilled, type Place } from './planned.js';
import type { ReferenceSource } from './reference-source.js';
import { ownCollections, registryOf } from './registry.js';
import { resolveReferences, type Problem, type SpecWarning } from './references.js';
import type { RejectsPlan } from '../run/rejects.js';
import { defaultsShape, pipelineName, pipelineShape, type PipelineShape } from './spec.js';
import type { End, StandIns } from './stand-ins.js';
import type { TestShape } from './test-shape.js';
import { nullsInTests } from './typed-scalars.js';
import { refuseLostKeys, validated } from './validate.js';

/** One document of a pipeline file after its check. */
export interface Checked {
  readonly document: SpecDocument;
  /** Its name, as far as it has one. */
  readonly name: string | undefined;
  /** Everything that it writes, with the place in the file; `undefined` is stdout. */
  readonly outputs: readonly { readonly path: string | undefined; readonly place: Path }[];
  /** Its chain, as far as it can be followed. */
  readonly plan: Plan | undefined;
  /** Present when nothing is wrong with the document by itself, and nothing is missing. */
  readonly pipeline: Pipeline | undefined;
  /** Who is told how a run of it ends, as far as that is known. */
  readonly hooks: Hooks;
  /** Its tests; `undefined` where it has none, or some that cannot be right. */
  readonly tests: readonly TestShape[] | undefined;
  /** What is right in it and probably not meant. */
  readonly doubts: readonly Doubt[];
  /** What the environment lacks of what it asks, where that may be. */
  readonly unset: readonly string[];
  readonly issues: readonly Issue[];
  /** Adds a problem that it has with others. */
  problem(path: Path, message: string, onKey?: boolean): void;
  /** Adds what is right in one of its tests and probably not meant. */
  readonly doubtTest: SpecWarning;
}

/** What the documents of a file are checked with. */
interface Given {
  readonly from: ReferenceSource;
  /** What a document has in common with the others. */
  readonly file: FileContext;
  readonly definitions: Definitions;
}

/** Checks a document by itself, to the end: all that is wrong with it is in `issues`. */
export function checkPipeline(document: SpecDocument, given: Given): Checked {
  const { checked, issues, warnings, standIns } = inspect(document, given, 'least');
  if (standIns.isChoice) {
    // What is wrong with some values only may be right with the one that is unknown.
    const other = inspect(document, given, 'greatest');
    issues.keepThoseOf(other.issues);
    warnings.keepThoseOf(other.warnings);
  }
  return checked;
}

/** @param end Of the values that could stand in for unknown ones, those that do. */
function inspect(document: SpecDocument, { from, file, definitions }: Given, end: End) {
  const issues = new IssueList(document, file);
  const { resolved, standIns } = resolvedIn(document.value, { from, file, issues, end });
  const every = issues.problemOf(false);
  const judging = { problem: every, standIns };
  const shape = validated(pipelineShape(), resolved, [], judging);
  // What cannot be read as a whole is read in parts, so that one typo does not hide the others.
  const parts = shape ?? partsOf(resolved, standIns);
  const unreported = shape ? every : issues.ofUnreported(every);
  const problem = issues.ofKnown(unreported);
  // What would be a warning is a failure then, and this one can be told before anything is read.
  const warnings = new WarningList(document, file.credentials, standIns, parts.service?.strict ? problem : undefined);
  const place = { baseDir: from.baseDir, pipeline: nameIn(parts), definitions, isPlain: document.isPlain, standIns };
  const chain = bindChain(parts, place, unreported);
  const collections = registryOf(resolved, judging);
  const findings = { problem, warn: warnings.add, unset: issues.unsetOf(), standIns };
  const planned = collections && planPipeline(parts, chain, { hmacKey: from.env.LEADSTREAM_HMAC_KEY, collections }, findings);
  const connecting = { problem: issues.ofKnown(issues.problemOf(true)), inFile: problem, unset: issues.unsetOf() };
  const connection = shape && connectionOf(shape.service, from.env, connecting);
  const rejects = parts.rejects && rejectsOf(parts.rejects, chain, place, problem);
  const hooks = hooksOf(knownHooks(parts, standIns), from.env, problem);
  refuseIdleRestart(parts, chain, problem);
  // What is wrong with their shape was reported with the whole.
  const written = nullsInTests(getIn(resolved, ['tests']), ['tests'], document.isPlain);
  const tests = validated(pipelineShape().shape.tests, written, ['tests'], { problem: () => {}, standIns });
  if (tests && planned) checkTests(tests, planned, problem);
  const plan = planned?.plan;
  const isRight = shape && plan && connection && rejects && issues.all.length === 0 && issues.unset.length === 0;
  const checked: Checked = {
    ...{ document, plan, tests, hooks },
    // One that is unknown may be any.
    name: standIns.within(['name']) ? undefined : parts.name,
    outputs: outputsOf(chain, rejects),
    pipeline: isRight
      ? pipelineOf({ shape, plan, connection, rejects, hooks, from, written: document.value, resolved, warnings: warnings.told })
      : undefined,
    ...{ doubts: warnings.all, unset: issues.unset, issues: issues.all },
    ...{ problem: issues.ofKnown(every), doubtTest: warnings.addOfTests },
  };
  return { checked, issues, warnings, standIns };
}

/** The name for paths; one that is wrong is told as such, and must not be an error of each of them, too. */
function nameIn({ name }: Parts): string {
  return name !== undefined && pipelineName.test(name) ? name : 'pipeline';
}

/** The hooks whose addresses are those of the environment, and no others that stand in for them. */
function knownHooks({ on_success, on_failure }: Parts, standIns: StandIns) {
  return defined({
    on_success: standIns.within(['on_success']) ? undefined : on_success,
    on_failure: standIns.within(['on_failure']) ? undefined : on_failure,
  });
}

/** Everything that a pipeline writes, with its place; `undefined` is stdout. */
function outputsOf({ sinks }: Chain, rejects: RejectsPlan | undefined): Checked['outputs'] {
  return [
    ...sinks.flatMap(({ output, prints, index, name }) =>
      prints || output !== undefined ? [{ path: output, place: ['to', index, name] }] : [],
    ),
    ...(rejects?.path === undefined ? [] : [{ path: rejects.path, place: ['rejects', 'path'] }]),
  ];
}

/** Checks what pipelines inherit as far as it can be told without them: all that is wrong with it. */
export function checkDefaults(document: SpecDocument, from: ReferenceSource, file: FileContext): readonly Issue[] {
  const issues = new IssueList(document, file, ['defaults']);
  const { resolved, standIns } = resolvedIn(inheritedOf(document), { from, file, issues, end: 'least' });
  const judging = { problem: issues.problemOf(false), standIns };
  validated(defaultsShape(), resolved, [], judging);
  registryOf(resolved, judging);
  return issues.all;
}

/** The collections that a document declares; what else it holds is not looked at, but for what is wrong with them. */
export function collectionsOf(document: SpecDocument, from: ReferenceSource, file: FileContext) {
  const issues = new IssueList(document, file);
  const declared = getIn(document.value, ['collections']);
  const given = declared === undefined ? {} : { collections: declared };
  const { resolved, standIns } = resolvedIn(given, { from, file, issues, end: 'least' });
  return { collections: ownCollections(resolved, { problem: issues.problemOf(false), standIns }), issues: issues.all };
}

/** What stands under `defaults`. */
export function inheritedOf({ value }: SpecDocument): unknown {
  return getIn(value, ['defaults']);
}

/** A value with its references resolved, and what stands in for those that lead nowhere. */
function resolvedIn(value: unknown, told: { from: ReferenceSource; file: FileContext; issues: IssueList; end: End }) {
  const { from, file, issues, end } = told;
  refuseLostKeys(value, issues.problemOf(false));
  const resolved = resolveReferences(value, from, file.credentials, { problem: issues.problemOf(true), unset: issues.unsetOf() });
  issues.resolved = resolved;
  return { resolved, standIns: issues.standIns(end) };
}

function rejectsOf(
  { path: own, max, rows }: PipelineShape['rejects'],
  { sinks }: Chain,
  { baseDir, pipeline }: Place,
  problem: Problem,
): RejectsPlan {
  const outputs = sinks.flatMap(({ output }) => output ?? []);

  function pathOf(names: PathNames): string | undefined {
    if (own !== undefined) return outputAt(own, { baseDir, names });
    const [first] = sinks.flatMap(({ outputOf }) => outputOf(names) ?? []);
    return first && `${first}.rejects.ndjson`;
  }

  const path = pathOf(unfilled(pipeline));
  if (path !== undefined && outputs.some((output) => collide(output, path))) {
    problem(['rejects', 'path'], `${path} is where a sink writes; choose another file for the rejects`);
  }
  return { path, pathOf, max, rows };
}

/** Refuses `on_new_field: restart` where a run cannot begin again, or where that would come to nothing. */
function refuseIdleRestart({ on_new_field: wanted, schema, service }: Parts, { sinks }: Chain, problem: Problem): void {
  if (wanted !== 'restart') return;
  const at = ['on_new_field'];
  if (sinks.some(({ prints }) => prints))
    problem(at, 'a run that prints cannot begin again, since its rows are printed by then; leave out the stdout sink, or choose next_run');
  const refusing = [...(schema === 'freeze' ? ['schema: freeze'] : []), ...(service?.strict ? ['service.strict'] : [])];
  for (const other of refusing) problem(at, `${other} refuses every new field, so a run would begin again for nothing; choose one of them`);
}
