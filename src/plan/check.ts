import { basename, dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { listOf, partsOfList, type Collection, type Registry } from '../collections/index.js';
import { defined, isMap, unknownName, SpecError, type Warning } from '../core/index.js';
import { getIn } from '../options/index.js';
import { viewName, type Together } from '../lake/index.js';
import type { PathNames } from '../store/index.js';
import { outputAt, sinks } from '../sinks/index.js';
import { declaredCollection, registryOf, tiesOf } from '../source/index.js';
import { bindChain, collide, collideAcrossRuns, planPipeline, unfilled, type Chain, type ChainShape } from './plan.js';
import { connectionIn } from './connection.js';
import { References, referenceSource, type Environment, type ReferenceSource } from './references.js';
import { type Definitions, definitionsWith, type LoadOptions } from './definitions.js';
import { belowAuth, type Path, type SpecDocument, parseSpecDocuments } from './document.js';
import { hooksOf } from './hooks.js';
import { IssueList, type Issue, type Problem, validated } from './issues.js';
import { pipelineOf, type Pipeline, type RejectsPlan } from './pipeline.js';
import { refuseUnfit } from './since.js';
import { pipelineName, pipelineShape, type PipelineShape, type TestShape } from './spec.js';

/** What is known of a document of a file. */
export type Checked = Awaited<ReturnType<typeof checkDocument>>;

/** What a pipeline writes, with its place in the file; stdout is `undefined`. */
type Outputs = readonly { readonly path: string | undefined; readonly place: Path }[];

async function checkDocument(document: SpecDocument, references: References, definitions: Definitions, lenient: boolean) {
  const issues = new IssueList(document, references.redact, lenient);
  const { problem } = issues;
  const resolved = references.resolved(document.value, issues);
  const shape = validated(pipelineShape(), resolved, [], problem);
  // One typo must not hide other problems.
  const parts = shape ?? partsOf(resolved);
  // An invalid name must not cause an error per path.
  const pipeline = parts.name !== undefined && pipelineName.test(parts.name) ? parts.name : 'pipeline';
  const { baseDir, env } = references.from;
  const chain = bindChain(parts, { baseDir, pipeline, definitions, isPlain: document.isPlain }, problem);
  const services = servicesIn(resolved);
  if (services[0] !== '' && parts.service)
    problem(['services'], 'service and services exclude each other; write it as one of services', true);
  const own = ownCollections(resolved, services, problem);
  const registry = own && registryOfAll(services, own);
  const plan = registry && (await planPipeline(parts, chain, { hmacKey: env.LEADSTREAM_HMAC_KEY, collections: registry }, issues));
  if (parts.since) refuseUnfit(parts, chain, plan?.collection, problem);
  const connected = shape && connectionsIn(shape, document, env, issues);
  const hooks = shape && hooksOf(shape, env, issues);
  const rejects = parts.rejects && rejectsOf(parts.rejects, chain, { baseDir, pipeline });
  const outputs = outputsOf(chain, rejects);
  refuseOverlaps(outputs, problem);
  if (parts.on_new_field === 'restart' && chain.sinks.some(({ definition }) => definition.prints))
    problem(['on_new_field'], 'a run that prints cannot start again; remove the stdout sink, or choose next_run');
  const together = parts.publish && joined(chain, problem);
  const tests = validated(pipelineShape().shape.tests, getIn(resolved, ['tests']), ['tests'], () => {});
  if (tests && registry) refuseUnknownRows(tests, registry, problem);
  // A warning fails a strict run, and these can be reported before anything is read.
  if (specsIn(parts).some(([, service]) => service?.strict)) issues.all.push(...issues.warnings.splice(0));
  const warnings = issues.warnings.map(({ code, message, line, column }) => {
    return { code, message: `${document.file}:${line}:${column} ${message}` };
  });
  const isRight = shape && plan && connected && rejects && hooks && issues.all.length === 0 && issues.unset.length === 0;
  return {
    ...{ document, name: parts.name, outputs, plan, tests, issues, services },
    /** Paths of the tables that it publishes together with those of other documents. */
    together,
    /** Warnings only for `validate`: a read checks the same itself. */
    advice: own?.flatMap((each) => tiedIn(each, document)) ?? [],
    pipeline: isRight ? pipelineOf(shape, { plan, services: connected, rejects, hooks, warnings }, references.from, resolved) : undefined,
  };
}

function joined({ sinks }: Chain, problem: Problem): readonly string[] {
  return sinks.flatMap(({ index, definition, config, output = '' }) => {
    const needed = [
      definition.joins?.(config) ? undefined : 'parquet with table: plain',
      output.includes('{{') ? 'a fixed path, like lake/night/leads' : undefined,
      basename(output) === viewName ? `a name other than ${viewName}` : undefined,
    ].find((need) => need !== undefined);
    if (needed === undefined) return [output];
    problem(['to', index, definition.name], `publish: together needs ${needed}`);
    return [];
  });
}

function togetherIn(checked: readonly Checked[]): Together {
  const all = checked.filter(({ together }) => together !== undefined);
  const paths = all.flatMap(({ together = [] }) => together);
  const folder = dirname(paths[0] ?? '');
  const storeOf = ({ document }: Checked) => JSON.stringify(getIn(document.value, ['store']));
  for (const each of all)
    if (each.together?.some((path) => dirname(path) !== folder) || (all[0] && storeOf(each) !== storeOf(all[0])))
      each.issues.problem(['publish'], `tables published together must be in one store, directly below one folder, like ${folder}`);
  return { folder, tables: paths.map((path) => basename(path)), pipelines: all.flatMap(({ name }) => name ?? []) };
}

/** Warns of a list that continues after a field of the last row, if that field may not be unique. */
function tiedIn(collection: Collection, document: SpecDocument): readonly (Issue & Warning)[] {
  const ties = tiesOf(collection);
  if (ties === undefined) return [];
  const message = `the list continues after ${ties.field} of the last row, which is not the key, so rows with the same value may be missed`;
  return [{ code: 'W_SOURCE_UNCHECKED', message, ...document.locate(['collections', collection.name, 'paging', 'last']) }];
}

function refuseOverlaps(outputs: Outputs, problem: Problem): void {
  outputs.forEach(({ path, place }, index) => {
    const first = outputs.slice(0, index).find((other) => collide(path, other.path));
    if (first) problem(place, `${path ?? 'stdout'} is the output of to[${first.place[1]}], or overlaps it; write somewhere else`);
  });
}

function refuseUnknownRows(tests: readonly TestShape[], registry: Registry, problem: Problem): void {
  const known = Object.keys(registry);
  tests.forEach(({ given }, index) => {
    for (const name of Object.keys(given))
      if (!known.includes(name)) problem(['tests', index, 'given', name], unknownName('collection', name, known), true);
  });
}

function partsOf(document: unknown): ChainShape & Partial<Omit<PipelineShape, 'collections' | 'tests' | 'steps' | 'to'>> {
  const { steps: _steps, to: _to, tests: _tests, collections: _collections, ...shape } = pipelineShape().shape;
  const read = ([key, schema]: [string, z.ZodType]) => [key, validated(schema, getIn(document, [key]), [key], () => {})] as const;
  const parts: Partial<PipelineShape> = defined(Object.fromEntries(Object.entries(shape).map(read)));
  const entriesOf = (key: string) => {
    const entries = getIn(document, [key]);
    return Array.isArray(entries) ? entries.map((entry: unknown) => (isMap(entry) ? entry : undefined)) : [];
  };
  return { ...parts, steps: entriesOf('steps'), to: entriesOf('to') };
}

function outputsOf({ sinks }: Chain, rejects: RejectsPlan | undefined): Outputs {
  return [
    ...sinks.flatMap(({ output, place, index, definition: { prints, name } }) =>
      prints || (output ?? place) !== undefined ? [{ path: output ?? place, place: ['to', index, name] }] : [],
    ),
    ...(rejects?.path === undefined ? [] : [{ path: rejects.path, place: ['rejects', 'path'] }]),
  ];
}

/** The names of the services; `''` is that of `service`. */
function servicesIn(document: unknown): readonly string[] {
  const services = getIn(document, ['services']);
  return isMap(services) ? Object.keys(services) : [''];
}

function registryOfAll(services: readonly string[], own: readonly Collection[]): Registry {
  const standard = services.flatMap((service) => Object.values(registryOf()).map((each) => listOf(service, each)));
  return Object.fromEntries([...standard, ...own].map((collection) => [collection.name, collection]));
}

function specsIn({ service, services }: Pick<Partial<PipelineShape>, 'service' | 'services'>) {
  return services ? Object.entries(services) : [['', service] as const];
}

/** By name; `''` is that of `service`. */
function connectionsIn(shape: PipelineShape, document: SpecDocument, env: Environment, issues: IssueList): Pipeline['services'] {
  const isStrict = specsIn(shape).some(([, service]) => service?.strict);
  const all = specsIn(shape).flatMap(([name, spec]) => {
    const at = name === '' ? ['service'] : ['services', name];
    const connection = connectionIn(spec && { ...spec, strict: isStrict }, env, issues, at);
    const written = getIn(document.value, at);
    return connection ? [[name, { connection, service: isMap(written) ? written : {} }] as const] : [];
  });
  return Object.fromEntries(all);
}

function ownCollections(document: unknown, services: readonly string[], problem: Problem): readonly Collection[] | undefined {
  const declared = getIn(document, ['collections']);
  // The document's schema requires a map.
  if (typeof declared !== 'object' || declared === null) return [];
  const checked = Object.entries(declared).map(([list, value]) => {
    const [service, name] = services[0] === '' ? ['', list] : partsOfList(list);
    const collection = validated(declaredCollection(name), value, ['collections', list], problem);
    if (services.includes(service)) return collection && listOf(service, collection);
    problem(['collections', list], `'${list}' begins with the name of no service; write it like ${services[0]}.${name}`, true);
    return undefined;
  });
  const own = checked.filter((collection) => collection !== undefined);
  return own.length === checked.length ? own : undefined;
}

function rejectsOf(
  { path: own, max, rows }: PipelineShape['rejects'],
  { sinks }: Chain,
  { baseDir, pipeline }: { readonly baseDir: string; readonly pipeline: string },
): RejectsPlan {
  function pathOf(names: PathNames): string | undefined {
    if (own !== undefined) return outputAt(own, { baseDir, names });
    const [first] = sinks.flatMap(({ definition, config }) => definition.output(config, { baseDir, names }) ?? []);
    return first && `${first}.rejects.ndjson`;
  }

  return { path: pathOf(unfilled(pipeline)), pathOf, max, rows };
}

interface CheckMode {
  /** Whether the environment may lack what the file refers to. Default `false`. */
  readonly lenient?: boolean;
  /** Absolute path of the file, which must not be overwritten. */
  readonly path?: string;
  readonly without?: readonly Path[];
  /** The values of references. Default: from the environment and files. */
  readonly from?: ReferenceSource;
}

/** @throws {SpecError} `E_SPEC_YAML`, and `E_SPEC_INVALID` for misplaced defaults; other problems are in `issues`. */
export async function checkDocuments(
  text: string,
  file: string,
  options: LoadOptions,
  { lenient = false, path, without = [], from = sourceOf(options) }: CheckMode = {},
) {
  const { set = {}, stateDir } = options;
  const removed = without.map((each) => ({ path: each, value: undefined }));
  const { defaults, pipelines } = parseSpecDocuments(file, text, [...overridesOf(file, set), ...removed]);
  const definitions = await definitionsWith(options);
  const references = new References([defaults, ...pipelines.map(({ value }) => value)], from, definitions.sinks);
  let checked = await Promise.all(pipelines.map((document) => checkDocument(document, references, definitions, lenient)));
  checked.forEach((later, index) => {
    const earlier = checked.slice(0, index);
    const namesake = earlier.find(({ name }) => name !== undefined && name === later.name);
    if (namesake) {
      const { line } = namesake.document.locate(['name']);
      later.issues.problem(['name'], `the name '${later.name}' is taken by the pipeline on line ${line}`);
    }
    refuseClashes(later, [
      ...(path === undefined ? [] : [{ path, what: 'this file' }]),
      ...(stateDir === undefined ? [] : [{ path: resolve(from.baseDir, stateDir), what: `the state folder ${stateDir}` }]),
      ...earlier.flatMap(({ name = '(unnamed)', outputs }) =>
        outputs.map((output) => ({ path: output.path, what: `an output of the pipeline '${name}'` })),
      ),
    ]);
  });
  refuseUnused(checked);
  const together = togetherIn(checked);
  checked = checked.map((each) => (each.pipeline && each.together ? { ...each, pipeline: { ...each.pipeline, together } } : each));
  // Each pipeline reports what is wrong with inherited values.
  const once = new Map(
    checked.flatMap(({ issues }) => issues.all).map((issue) => [`${issue.line}:${issue.column} ${issue.message}`, issue]),
  );
  const issues = [...once.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  return { pipelines: checked, issues, unset: [...new Set(checked.flatMap(({ issues: { unset } }) => unset))] };
}

/** Returns the collections that the documents of a file declare. The later one of a name counts. @throws {SpecError} */
export function collectionsIn(text: string, file: string, options: LoadOptions): readonly Collection[] {
  const { defaults, pipelines } = parseSpecDocuments(file, text);
  const references = new References([defaults, ...pipelines.map(({ value }) => value)], sourceOf(options), sinks);
  const found = pipelines.flatMap((document) => {
    const issues = new IssueList(document, references.redact, false);
    const resolved = references.resolved({ collections: getIn(document.value, ['collections']) }, issues);
    const own = ownCollections(resolved, servicesIn(document.value), issues.problem) ?? [];
    if (issues.all.length > 0) throw specErrorOf(file, issues.all);
    return own;
  });
  const named = found.map((collection) => ({ ...collection, name: partsOfList(collection.name)[1] }));
  return [...new Map(named.map((collection) => [collection.name, collection])).values()];
}

/** Defaults may have services that only some of the pipelines read. */
function refuseUnused(checked: readonly Checked[]): void {
  if (checked.some(({ issues: { all, unknown } }) => all.length > 0 || unknown.some(([key]) => key === 'steps'))) return;
  const lists = checked.flatMap(({ plan }) =>
    plan ? [plan.collection.name, ...plan.steps.map(({ config }) => getIn(config, ['with']))] : [],
  );
  const used = lists.map((list) => partsOfList(String(list))[0]);
  for (const { services, issues } of checked)
    for (const name of services.filter((each) => !used.includes(each)))
      issues.problem(['services', name], `nothing in this file reads a list of '${name}', like ${name}.leads; remove the service`, true);
}

function sourceOf({ env = process.env, cwd = process.cwd(), baseDir = cwd }: LoadOptions): ReferenceSource {
  return referenceSource(env, baseDir);
}

function refuseClashes({ outputs, issues }: Checked, reserved: readonly { path: string | undefined; what: string }[]): void {
  const clashes = outputs.flatMap(({ path, place }) => {
    const found = reserved.find((other) => collideAcrossRuns(path, other.path));
    return found ? [{ place, message: `${path ?? 'stdout'} is ${found.what}, or overlaps it; write somewhere else` }] : [];
  });
  // A rejects file is named after an output, whose problem is enough.
  for (const { place, message } of clashes.filter(({ place }) => place[0] === 'to' || clashes.length === 1)) issues.problem(place, message);
}

export function specErrorOf(file: string, issues: readonly Issue[], pipelines: readonly Checked[] = []): SpecError {
  const code = issues.every((issue) => issue.code === 'E_SPEC_REFERENCE') ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID';
  const names = pipelines.flatMap(({ name }) => name ?? []);
  return new SpecError(code, file, issues, names);
}

function overridesOf(file: string, set: Readonly<Record<string, string>>): readonly { path: Path; value: string }[] {
  return Object.entries(set).map(([key, value]) => {
    const path = key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    // Also a service as a whole, or all of them.
    if ([path, [...path, 'auth'], [...path, '', 'auth']].some(belowAuth)) {
      throw new SpecError('E_SPEC_INVALID', file, [
        { message: `--set ${key}: credentials are not accepted on the command line`, line: 1, column: 1 },
      ]);
    }
    return { path, value };
  });
}
