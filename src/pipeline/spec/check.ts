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

/** A document of a pipeline file after validation. */
export interface Checked {
  readonly document: SpecDocument;
  /** Its name, if it has a valid one. */
  readonly name: string | undefined;
  /** Everything that it writes, with the place in the file; `undefined` is stdout. */
  readonly outputs: readonly { readonly path: string | undefined; readonly place: Path }[];
  /** Its plan, as far as it can be determined. */
  readonly plan: Plan | undefined;
  /** Present if the document by itself has no problems, and nothing is missing. */
  readonly pipeline: Pipeline | undefined;
  /** The webhooks to notify when a run ends, as far as they are known. */
  readonly hooks: Hooks;
  /** Its tests; `undefined` if it has none, or invalid ones. */
  readonly tests: readonly TestShape[] | undefined;
  /** Doubts: valid, but probably unintended. */
  readonly doubts: readonly Doubt[];
  /** Variables and files that it refers to and that are missing, in lenient mode. */
  readonly unset: readonly string[];
  readonly issues: readonly Issue[];
  /** Adds a problem with other documents. */
  problem(path: Path, message: string, onKey?: boolean): void;
  /** Adds a doubt about one of its tests. */
  readonly doubtTest: SpecWarning;
}

/** The input for checking the documents of a file. */
interface Given {
  readonly from: ReferenceSource;
  /** What a document shares with the others. */
  readonly file: FileContext;
  readonly definitions: Definitions;
}

/** Checks a document by itself, even after a problem: all problems are in `issues`. */
export function checkPipeline(document: SpecDocument, given: Given): Checked {
  const { checked, issues, warnings, standIns } = inspect(document, given, 'least');
  if (standIns.isChoice) {
    // Keeps only problems that exist with every possible value, since the unknown one may be valid.
    const other = inspect(document, given, 'greatest');
    issues.keepThoseOf(other.issues);
    warnings.keepThoseOf(other.warnings);
  }
  return checked;
}

/** @param end Which of the possible stand-ins for unknown values to use. */
function inspect(document: SpecDocument, { from, file, definitions }: Given, end: End) {
  const issues = new IssueList(document, file);
  const { resolved, standIns } = resolvedIn(document.value, { from, file, issues, end });
  const every = issues.problemOf(false);
  const judging = { problem: every, standIns };
  const shape = validated(pipelineShape(), resolved, [], judging);
  // If the whole is invalid, its parts are read separately, so that one typo does not hide other problems.
  const parts = shape ?? partsOf(resolved, standIns);
  const unreported = shape ? every : issues.ofUnreported(every);
  const problem = issues.ofKnown(unreported);
  // Under `strict` a warning is a failure, and this one can be reported before anything is read.
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
  // Problems of their shape were already reported with the whole.
  const written = nullsInTests(getIn(resolved, ['tests']), ['tests'], document.isPlain);
  const tests = validated(pipelineShape().shape.tests, written, ['tests'], { problem: () => {}, standIns });
  if (tests && planned) checkTests(tests, planned, problem);
  const plan = planned?.plan;
  const isRight = shape && plan && connection && rejects && issues.all.length === 0 && issues.unset.length === 0;
  const checked: Checked = {
    ...{ document, plan, tests, hooks },
    // An unknown name may be any.
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

/** Returns the name for paths. An invalid name is reported as such, and must not cause an error for each path as well. */
function nameIn({ name }: Parts): string {
  return name !== undefined && pipelineName.test(name) ? name : 'pipeline';
}

/** Returns the hooks whose addresses come from the environment, without stand-ins. */
function knownHooks({ on_success, on_failure }: Parts, standIns: StandIns) {
  return defined({
    on_success: standIns.within(['on_success']) ? undefined : on_success,
    on_failure: standIns.within(['on_failure']) ? undefined : on_failure,
  });
}

/** Returns everything that a pipeline writes, with its place; `undefined` is stdout. */
function outputsOf({ sinks }: Chain, rejects: RejectsPlan | undefined): Checked['outputs'] {
  return [
    ...sinks.flatMap(({ output, prints, index, name }) =>
      prints || output !== undefined ? [{ path: output, place: ['to', index, name] }] : [],
    ),
    ...(rejects?.path === undefined ? [] : [{ path: rejects.path, place: ['rejects', 'path'] }]),
  ];
}

/** Checks inherited values as far as possible without the pipelines. Returns all problems. */
export function checkDefaults(document: SpecDocument, from: ReferenceSource, file: FileContext): readonly Issue[] {
  const issues = new IssueList(document, file, ['defaults']);
  const { resolved, standIns } = resolvedIn(inheritedOf(document), { from, file, issues, end: 'least' });
  const judging = { problem: issues.problemOf(false), standIns };
  validated(defaultsShape(), resolved, [], judging);
  registryOf(resolved, judging);
  return issues.all;
}

/** Returns the collections declared by a document and their problems, ignoring everything else. */
export function collectionsOf(document: SpecDocument, from: ReferenceSource, file: FileContext) {
  const issues = new IssueList(document, file);
  const declared = getIn(document.value, ['collections']);
  const given = declared === undefined ? {} : { collections: declared };
  const { resolved, standIns } = resolvedIn(given, { from, file, issues, end: 'least' });
  return { collections: ownCollections(resolved, { problem: issues.problemOf(false), standIns }), issues: issues.all };
}

/** Returns the value of `defaults`. */
export function inheritedOf({ value }: SpecDocument): unknown {
  return getIn(value, ['defaults']);
}

/** Resolves the references in a value, and returns stand-ins for those that cannot be resolved. */
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
    problem(['rejects', 'path'], `a sink writes to ${path}; choose another file for the rejects`);
  }
  return { path, pathOf, max, rows };
}

/** Refuses `on_new_field: restart` if a run cannot start again, or would do so in vain. */
function refuseIdleRestart({ on_new_field: wanted, schema, service }: Parts, { sinks }: Chain, problem: Problem): void {
  if (wanted !== 'restart') return;
  const at = ['on_new_field'];
  if (sinks.some(({ prints }) => prints))
    problem(
      at,
      'a run that prints cannot start again, because its rows are already printed; leave out the stdout sink, or choose next_run',
    );
  const refusing = [...(schema === 'freeze' ? ['schema: freeze'] : []), ...(service?.strict ? ['service.strict'] : [])];
  for (const other of refusing) problem(at, `${other} refuses every new field, so a run would start again for nothing; choose one of them`);
}
