import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { collections, type Collection, type Registry } from '../collections/index.js';
import { defined, unknownName, SpecError } from '../core/index.js';
import { getIn } from '../options/index.js';
import type { PathNames } from '../store/index.js';
import { outputAt } from '../sinks/index.js';
import { collectionOf, collectionShape } from '../source/index.js';
import { collide, collideAcrossRuns, bindChain, planPipeline, type Chain, type ChainShape, type Plan } from './plan.js';
import { connectionOf } from './connection.js';
import { type HookName, type ReferenceSource, resolveReferences, type Problem, credentialsIn, referenceSource } from './references.js';
import { type Definitions, definitionsWith, type LoadOptions } from './definitions.js';
import { type Path, type SpecDocument, parseSpecDocuments } from './document.js';
import { hooksOf } from './hooks.js';
import { dependsOn, IssueList, type FileContext, type Issue, validated } from './issues.js';
import { pipelineOf, type Pipeline, type RejectsPlan } from './pipeline.js';
import { unfilled, type Place } from './planned.js';
import { defaultsShape, pipelineName, pipelineShape, type PipelineShape, type TestShape } from './spec.js';

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
  /** Its tests; `undefined` if it has none, or invalid ones. */
  readonly tests: readonly TestShape[] | undefined;
  /** Its problems and doubts, and what it refers to and is missing. */
  readonly issues: IssueList;
}

/** The input for checking the documents of a file. */
interface Given {
  readonly from: ReferenceSource;
  /** What a document shares with the others. */
  readonly file: FileContext;
  readonly definitions: Definitions;
}

/** Checks a document by itself, even after a problem: all problems are in `issues`. */
export function checkPipeline(document: SpecDocument, { from, file, definitions }: Given): Checked {
  const issues = new IssueList(document, file);
  const { problem } = issues;
  const resolved = resolvedIn(document.value, from, issues);
  const { unknown, unsetProblem: unset } = issues;
  const shape = validated(pipelineShape(), resolved, [], problem);
  // If the whole is invalid, its parts are read separately, so that one typo does not hide other problems.
  const parts = shape ?? partsOf(resolved);
  issues.isStrict = parts.service?.strict ?? false;
  const place = { baseDir: from.baseDir, pipeline: nameIn(parts), definitions, isPlain: document.isPlain, unknown };
  const chain = bindChain(parts, place, problem);
  const registry = registryOf(resolved, problem);
  const findings = { problem, warn: issues.warn, unset, unknown };
  const plan = registry && planPipeline(parts, chain, { hmacKey: from.env.LEADSTREAM_HMAC_KEY, collections: registry }, findings);
  const connection = shape && connectionOf(shape.service, from.env, { problem: issues.givenProblem, inFile: problem, unset });
  const rejects = parts.rejects && rejectsOf(parts.rejects, chain, place, problem);
  // In place of a refused reference is no address.
  const hookAt = (name: HookName) => (dependsOn([name], unknown) ? undefined : parts[name]);
  const hooks = hooksOf({ on_success: hookAt('on_success'), on_failure: hookAt('on_failure') }, from.env, problem);
  refuseRestart(parts, chain, problem);
  // Problems of their shape were already reported with the whole.
  const written = nullsInTests(getIn(resolved, ['tests']), ['tests'], document.isPlain);
  const tests = validated(pipelineShape().shape.tests, written, ['tests'], silent);
  if (tests && registry) refuseUnknownRows(tests, registry, problem);
  const warnings = issues.doubts.map(({ code, message, line, column }) => {
    return { code, message: `${document.file}:${line}:${column} ${message}` };
  });
  const isRight = shape && plan && connection && rejects && issues.all.length === 0 && issues.unset.length === 0;
  return {
    ...{ document, name: parts.name, plan, tests, issues },
    outputs: outputsOf(chain, rejects),
    pipeline: isRight
      ? pipelineOf({ shape, plan, connection, rejects, hooks, from, written: document.value, resolved, warnings })
      : undefined,
  };
}

/** Refuses rows of unknown collections in tests. */
function refuseUnknownRows(tests: readonly TestShape[], registry: Registry, problem: Problem): void {
  const known = Object.keys(registry);
  tests.forEach(({ given }, index) => {
    for (const name of Object.keys(given))
      if (!known.includes(name)) problem(['tests', index, 'given', name], unknownName('collection', name, known), true);
  });
}

/** The readable parts of a pipeline. */
type Parts = ChainShape & Partial<Omit<PipelineShape, 'collections' | 'tests' | 'steps' | 'to'>>;

/** Reads the valid parts of a document that is invalid as a whole, key by key. */
function partsOf(document: unknown): Parts {
  const { steps: _steps, to: _to, tests: _tests, collections: _collections, ...shape } = pipelineShape().shape;
  const read = ([key, schema]: [string, z.ZodType]) => [key, validated(schema, getIn(document, [key]), [key], silent)] as const;
  const parts: Partial<PipelineShape> = defined(Object.fromEntries(Object.entries(shape).map(read)));
  const entriesOf = (key: string) => {
    const entries = getIn(document, [key]);
    return Array.isArray(entries) ? entries.map((entry: unknown) => (isMap(entry) ? entry : undefined)) : [];
  };
  return { ...parts, steps: entriesOf('steps'), to: entriesOf('to') };
}

function silent(): void {}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the name for paths. An invalid name is reported as such, and must not cause an error for each path as well. */
function nameIn({ name }: Parts): string {
  return name !== undefined && pipelineName.test(name) ? name : 'pipeline';
}

/** Returns everything that a pipeline writes, with its place; `undefined` is stdout. */
function outputsOf({ sinks }: Chain, rejects: RejectsPlan | undefined): Checked['outputs'] {
  return [
    ...sinks.flatMap(({ output, index, definition: { prints, name } }) =>
      prints || output !== undefined ? [{ path: output, place: ['to', index, name] }] : [],
    ),
    ...(rejects?.path === undefined ? [] : [{ path: rejects.path, place: ['rejects', 'path'] }]),
  ];
}

/** Checks inherited values as far as possible without the pipelines. Returns all problems. */
function checkDefaults(document: SpecDocument, from: ReferenceSource, file: FileContext): readonly Issue[] {
  const issues = new IssueList(document, file, ['defaults']);
  const resolved = resolvedIn(inheritedOf(document), from, issues);
  validated(defaultsShape(), resolved, [], issues.problem);
  ownCollections(resolved, issues.problem);
  return issues.all;
}

/** Returns the collections declared by a document and their problems, ignoring everything else. */
function collectionsOf(document: SpecDocument, from: ReferenceSource, file: FileContext) {
  const issues = new IssueList(document, file);
  const declared = getIn(document.value, ['collections']);
  const resolved = resolvedIn(declared === undefined ? {} : { collections: declared }, from, issues);
  return { collections: ownCollections(resolved, issues.problem), issues: issues.all };
}

/** Returns the value of `defaults`. */
function inheritedOf({ value }: SpecDocument): unknown {
  return getIn(value, ['defaults']);
}

/** Resolves the references in a value. */
function resolvedIn(value: unknown, from: ReferenceSource, issues: IssueList): unknown {
  const { file, referenceProblem: problem, unsetProblem: unset } = issues;
  issues.resolved = resolveReferences(value, from, file.credentials, { problem, unset });
  return issues.resolved;
}

/**
 * Returns the collections that a document can name: those of every service, and its own.
 *
 * @param document With its references resolved.
 * @returns `undefined` if one of its own collections is invalid, so that uses of it cannot be checked.
 */
function registryOf(document: unknown, problem: Problem): Registry | undefined {
  const own = ownCollections(document, problem);
  return own && { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}

/** Returns the collections declared by a document; `undefined` if one of them is invalid. */
function ownCollections(document: unknown, problem: Problem): readonly Collection[] | undefined {
  const declared = getIn(document, ['collections']);
  // The schema of the document checks that it is a map.
  if (typeof declared !== 'object' || declared === null) return [];
  const checked = Object.entries(declared).map(([name, value]) => {
    const declaration = validated(collectionShape(name), value, ['collections', name], problem);
    return declaration && collectionOf(name, declaration);
  });
  const own = checked.filter((collection) => collection !== undefined);
  return own.length === checked.length ? own : undefined;
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
    const [first] = sinks.flatMap(({ definition, config }) => definition.output(config, { baseDir, names }) ?? []);
    return first && `${first}.rejects.ndjson`;
  }

  const path = pathOf(unfilled(pipeline));
  if (path !== undefined && outputs.some((output) => collide(output, path))) {
    problem(['rejects', 'path'], `a sink writes to ${path}; choose another file for the rejects`);
  }
  return { path, pathOf, max, rows };
}

/** Refuses `on_new_field: restart` if a run cannot start again. */
function refuseRestart({ on_new_field: wanted }: Parts, { sinks }: Chain, problem: Problem): void {
  if (wanted === 'restart' && sinks.some(({ definition }) => definition.prints))
    problem(
      ['on_new_field'],
      'a run that prints cannot start again, because its rows are already printed; leave out the stdout sink, or choose next_run',
    );
}

/**
 * Converts unquoted `null` in rows that tests give and expect; all other values there are texts.
 *
 * @param path Path of the tests.
 */
function nullsInTests(tests: unknown, path: Path, isPlain: (path: Path) => boolean): unknown {
  if (typeof tests === 'string') return tests === 'null' && isOfRow(path) && isPlain(path) ? null : tests;
  if (Array.isArray(tests)) return tests.map((item, index) => nullsInTests(item, [...path, index], isPlain));
  if (typeof tests !== 'object' || tests === null) return tests;
  return Object.fromEntries(Object.entries(tests).map(([key, item]) => [key, nullsInTests(item, [...path, key], isPlain)]));
}

/** Returns whether a path is in a row: under `tests[0].given.leads[0]`, `tests[0].expect.rows[0]` or `tests[0].expect.files.name.rows[0]`. */
function isOfRow([, , part, of, name, rows]: Path): boolean {
  return part === 'given' || (part === 'expect' && (of === 'rows' || (of === 'files' && name !== undefined && rows === 'rows')));
}

/** How a file is checked. */
interface CheckMode {
  /** Whether the environment may lack what the file refers to. Default `false`. */
  readonly lenient?: boolean;
  /** Absolute path of the file, which must not be overwritten. Default: the text is not in a file. */
  readonly path?: string;
  /** Paths of values to leave out of every pipeline. Default: none. */
  readonly without?: readonly Path[];
  /** The values of references. Default: the environment, and files. */
  readonly from?: ReferenceSource;
}

/**
 * Checks every document of a pipeline file, individually and against the others.
 *
 * @param file Name for messages.
 * @returns The documents; all problems in the order of the file; and, in lenient mode, the variables and files that it refers to and that are missing.
 * @throws {SpecError} `E_SPEC_YAML`, and `E_SPEC_INVALID` for misplaced defaults; all other problems are in `issues`.
 */
export async function checkDocuments(
  text: string,
  file: string,
  options: LoadOptions,
  { lenient = false, path, without = [], from = sourceOf(options) }: CheckMode = {},
) {
  const { set = {}, stateDir } = options;
  const removed = without.map((each) => ({ path: each, value: undefined }));
  const { defaults, pipelines } = parseSpecDocuments(file, text, [...overridesOf(file, set), ...removed]);
  const documents = [...(defaults ? [inheritedOf(defaults)] : []), ...pipelines.map(({ value }) => value)];
  const context = { credentials: credentialsIn(documents, from), lenient };
  const definitions = await definitionsWith(options);
  const checked = pipelines.map((document) => checkPipeline(document, { from, file: context, definitions }));
  checked.forEach((later, index) => {
    const earlier = checked.slice(0, index);
    const namesake = earlier.find(({ name }) => name !== undefined && name === later.name);
    if (namesake)
      later.issues.problem(
        ['name'],
        `the name '${later.name}' is taken by the pipeline on line ${namesake.document.locate(['name']).line}`,
      );
    refuseClashes(later, [
      ...(path === undefined ? [] : [{ path, what: 'this file' }]),
      ...(stateDir === undefined ? [] : [{ path: resolve(from.baseDir, stateDir), what: `the state folder ${stateDir}` }]),
      ...earlier.flatMap(({ name = '(unnamed)', outputs }) =>
        outputs.map((output) => ({ path: output.path, what: `an output of the pipeline '${name}'` })),
      ),
    ]);
  });
  const all = [...(defaults ? checkDefaults(defaults, from, context) : []), ...checked.flatMap(({ issues: { all } }) => all)];
  // What is wrong with inherited values is found in each pipeline.
  const once = new Map(all.map((issue) => [`${issue.line}:${issue.column} ${issue.message}`, issue]));
  const issues = [...once.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  return { pipelines: checked, issues, unset: [...new Set(checked.flatMap(({ issues: { unset } }) => unset))] };
}

/**
 * Returns the collections declared by the documents of a file, ignoring everything else.
 *
 * @throws {SpecError} With all problems of the collections; also if two documents declare different ones with the same name.
 */
export function collectionsIn(text: string, file: string, options: LoadOptions) {
  const { defaults, pipelines } = parseSpecDocuments(file, text);
  const from = sourceOf(options);
  const given = defaults ? [inheritedOf(defaults)] : [];
  const credentials = credentialsIn([...given, ...pipelines.map(({ value }) => value)], from);
  const found = new Map<string, Collection>();
  for (const document of pipelines) {
    const { collections = [], issues } = collectionsOf(document, from, { credentials, lenient: false });
    if (issues.length > 0) throw failureOf(file, issues);
    for (const collection of collections) {
      const { name } = collection;
      const message = `'${name}' is declared differently in an earlier document`;
      if (found.has(name) && !isDeepStrictEqual(found.get(name), collection))
        throw new SpecError('E_SPEC_INVALID', file, [{ message, ...document.locate(['collections', name], true) }]);
      found.set(name, collection);
    }
  }
  return [...found.values()];
}

function sourceOf({ env = process.env, cwd = process.cwd(), baseDir = cwd }: LoadOptions): ReferenceSource {
  return referenceSource(env, baseDir);
}

/** Refuses outputs at, in or around something else, or a second one on stdout. */
function refuseClashes({ outputs, issues }: Checked, taken: readonly { path: string | undefined; what: string }[]): void {
  const clashes = outputs.flatMap(({ path, place }) => {
    const found = taken.find((other) => collideAcrossRuns(path, other.path));
    return found ? [{ place, message: `${path ?? 'stdout'} is ${found.what}, or overlaps it; write somewhere else` }] : [];
  });
  // A rejects file is usually named after an output, whose problem is sufficient.
  for (const { place, message } of clashes.filter(({ place }) => place[0] === 'to' || clashes.length === 1)) issues.problem(place, message);
}

/**
 * Creates the failure of a file.
 *
 * @param issues Its problems.
 * @param pipelines What is known about its pipelines. Default: nothing.
 */
export function failureOf(file: string, issues: readonly Issue[], pipelines: readonly Checked[] = []): SpecError {
  const code = issues.every(({ reference }) => reference) ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID';
  const names = pipelines.flatMap(({ name }) => name ?? []);
  return new SpecError(code, file, issues, names);
}

function overridesOf(file: string, set: Readonly<Record<string, string>>): readonly { path: Path; value: string }[] {
  return Object.entries(set).map(([key, value]) => {
    const path = key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    if (path[0] === 'service' && (path.length === 1 || path[1] === 'auth')) {
      throw new SpecError('E_SPEC_INVALID', file, [
        { message: `--set ${key}: credentials are not accepted on the command line`, line: 1, column: 1 },
      ]);
    }
    return { path, value };
  });
}
