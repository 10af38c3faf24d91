import { getIn } from '../../options/index.js';
import type { PathNames } from '../../store/index.js';
import { outputAt } from '../../sinks/index.js';
import { checkTests } from './check-tests.js';
import { collide } from './collide.js';
import { connectionOf } from './connection.js';
import type { Definitions } from './definitions.js';
import type { Path, SpecDocument } from './document.js';
import { hooksOf } from './hooks.js';
import { IssueList, WarningList, type Doubt, type FileContext, type Issue } from './issue-list.js';
import { pipelineOf, type Pipeline } from './pipeline.js';
import { planPipeline, type Plan } from './plan.js';
import { unfilled } from './planned.js';
import type { ReferenceSource } from './reference-source.js';
import { ownCollections, registryOf } from './registry.js';
import { resolveReferences, type Problem, type SpecWarning } from './references.js';
import type { RejectsPlan } from '../run/rejects.js';
import { defaultsShape, pipelineShape, type PipelineShape } from './spec.js';
import type { TestShape } from './test-shape.js';
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
  /** Its tests; `undefined` where it has none, or some that cannot be right. */
  readonly tests: readonly TestShape[] | undefined;
  /** What is right in it and probably not meant. */
  readonly doubts: readonly Doubt[];
  /** What the environment lacks of what it asks, where that may be. */
  readonly unset: readonly string[];
  readonly issues: readonly Issue[];
  /** Adds a problem that it has with others. */
  problem(path: Path, message: string, onKey?: boolean): void;
  /** Adds what is right in it and probably not meant. */
  readonly doubt: SpecWarning;
}

/**
 * Checks a document by itself, to the end: all that is wrong with it is in `issues`.
 *
 * @param file What it has in common with the other documents.
 */
export function checkPipeline(document: SpecDocument, from: ReferenceSource, file: FileContext, definitions: Definitions): Checked {
  const { env, baseDir } = from;
  const issues = new IssueList(document, file);
  const problem = issues.problemOf(false);
  const resolved = resolvedIn(document.value, { from, file, issues });
  const name = pipelineShape().pick({ name: true }).strip().safeParse(resolved).data?.name;
  const shape = validated(pipelineShape(), resolved, [], problem);
  // What would be a warning is a failure then, and this one can be told before anything is read.
  const warnings = new WarningList(document, file.credentials, shape?.service?.strict ? problem : undefined);
  // What cannot be read as a whole is read in parts, so that one typo does not hide the others.
  const parts = shape ?? readableParts(resolved);
  const collections = registryOf(resolved, problem);
  const context = { baseDir, pipeline: name ?? '', hmacKey: env.LEADSTREAM_HMAC_KEY, definitions, isPlain: document.isPlain };
  const findings = { problem: shape ? problem : issues.ofUnreported(problem), warn: warnings.add, unset: issues.unsetOf() };
  const plan = parts && collections && planPipeline(parts, { ...context, collections }, findings);
  const connection =
    shape && connectionOf(shape.service, env, { problem: issues.ofResolved(issues.problemOf(true)), unset: issues.unsetOf() });
  const rejects = shape && plan && rejectsOf(shape, plan, baseDir, problem);
  const hooks = shape && hooksOf(shape, env, problem);
  if (shape && plan) refuseIdleRestart(shape, plan, problem);
  // What is wrong with their shape was reported with the whole.
  const tests = validated(pipelineShape().shape.tests, getIn(resolved, ['tests']), ['tests'], () => {});
  if (tests && plan) checkTests(tests, plan, problem);
  const isRight = shape && plan && connection && rejects && hooks && issues.all.length === 0 && issues.unset.length === 0;

  return {
    document,
    name,
    outputs: [
      ...(plan?.sinks ?? []).flatMap(({ output, prints, index, name }) =>
        prints || output !== undefined ? [{ path: output, place: ['to', index, name] }] : [],
      ),
      ...(rejects?.path === undefined ? [] : [{ path: rejects.path, place: ['rejects', 'path'] }]),
    ],
    plan,
    pipeline: isRight
      ? pipelineOf({ shape, plan, connection, rejects, hooks, from, written: document.value, resolved, warnings: warnings.told })
      : undefined,
    tests,
    doubts: warnings.all,
    unset: issues.unset,
    issues: issues.all,
    problem,
    doubt: warnings.add,
  };
}

/** Checks what pipelines inherit as far as it can be told without them: all that is wrong with it. */
export function checkDefaults(document: SpecDocument, from: ReferenceSource, file: FileContext): readonly Issue[] {
  const issues = new IssueList(document, file, ['defaults']);
  const resolved = resolvedIn(inheritedOf(document), { from, file, issues });
  validated(defaultsShape(), resolved, [], issues.problemOf(false));
  registryOf(resolved, issues.problemOf(false));
  return issues.all;
}

/** The collections that a document declares; what else it holds is not looked at, but for what is wrong with them. */
export function collectionsOf(document: SpecDocument, from: ReferenceSource, file: FileContext) {
  const issues = new IssueList(document, file);
  const declared = getIn(document.value, ['collections']);
  const resolved = resolvedIn(declared === undefined ? {} : { collections: declared }, { from, file, issues });
  return { collections: ownCollections(resolved, issues.problemOf(false)), issues: issues.all };
}

/** What stands under `defaults`. */
export function inheritedOf({ value }: SpecDocument): unknown {
  return getIn(value, ['defaults']);
}

function resolvedIn(value: unknown, told: { from: ReferenceSource; file: FileContext; issues: IssueList }): unknown {
  const { from, file, issues } = told;
  refuseLostKeys(value, issues.problemOf(false));
  const resolved = resolveReferences(value, from, file.credentials, { problem: issues.problemOf(true), unset: issues.unsetOf() });
  issues.resolved = resolved;
  return resolved;
}

function rejectsOf(shape: PipelineShape, plan: Plan, baseDir: string, problem: Problem): RejectsPlan {
  const outputs = plan.sinks.flatMap(({ output }) => output ?? []);
  const own = shape.rejects.path;

  function pathOf(names: PathNames): string | undefined {
    if (own !== undefined) return outputAt(own, { baseDir, names });
    const [first] = plan.sinks.flatMap(({ outputOf }) => outputOf(names) ?? []);
    return first && `${first}.rejects.ndjson`;
  }

  const path = pathOf(unfilled(shape.name));
  if (path !== undefined && outputs.some((output) => collide(output, path))) {
    problem(['rejects', 'path'], `${path} is where a sink writes; choose another file for the rejects`);
  }
  return { path, pathOf, max: shape.rejects.max, rows: shape.rejects.rows };
}

/** Refuses `on_new_field: restart` where a run cannot begin again, or where that would come to nothing. */
function refuseIdleRestart({ on_new_field: wanted, schema, service }: PipelineShape, { sinks }: Plan, problem: Problem): void {
  if (wanted !== 'restart') return;
  const at = ['on_new_field'];
  if (sinks.some(({ prints }) => prints))
    problem(at, 'a run that prints cannot begin again, since its rows are printed by then; leave out the stdout sink, or choose next_run');
  const refusing = [...(schema === 'freeze' ? ['schema: freeze'] : []), ...(service?.strict ? ['service.strict'] : [])];
  for (const other of refusing) problem(at, `${other} refuses every new field, so a run would begin again for nothing; choose one of them`);
}

/** What can be planned of a file that has problems in its shape. */
function readableParts(value: unknown) {
  const { shape } = pipelineShape();
  const from = shape.from.safeParse(getIn(value, ['from'])).data;
  const reveal = shape.reveal.safeParse(getIn(value, ['reveal'])).data;
  return from === undefined ? undefined : { from, reveal, steps: entriesOf(getIn(value, ['steps'])), to: entriesOf(getIn(value, ['to'])) };
}

/** The steps or sinks of a list; what cannot be one keeps its place, so that all others have theirs. */
function entriesOf(value: unknown): Readonly<Record<string, unknown>>[] {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries.map((entry) => (typeof entry === 'object' && entry !== null && !Array.isArray(entry) ? { ...entry } : {}));
}
