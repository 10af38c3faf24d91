import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Collection } from '../collections/index.js';
import { SpecError } from '../core/index.js';
import { runTemplate } from '../store/index.js';
import { checkDefaults, checkPipeline, inheritedOf, type Checked, collectionsOf } from './check.js';
import { collide } from './collide.js';
import { definitionsWith, type LoadOptions } from './definitions.js';
import { credentialsIn } from './credentials.js';
import { parseSpecDocuments, type Path } from './document.js';
import { noteRefused } from './hooks.js';
import type { Issue } from './issue-list.js';
import { referenceSource, type ReferenceSource } from './reference-source.js';

/** A pipeline file after validation. */
export interface CheckedFile {
  readonly pipelines: readonly Checked[];
  /** All problems, in the order of the file. */
  readonly issues: readonly Issue[];
  /** Variables and files that the file refers to and that are missing, in lenient mode. */
  readonly unset: readonly string[];
}

/** How a file is checked. */
export interface CheckMode {
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
 * @throws {SpecError} `E_SPEC_YAML`, and `E_SPEC_INVALID` for misplaced defaults; all other problems are in `issues`.
 */
export async function checkDocuments(
  text: string,
  file: string,
  options: LoadOptions,
  { lenient = false, path, without = [], from = sourceOf(options) }: CheckMode = {},
): Promise<CheckedFile> {
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
      later.problem(['name'], `the name '${later.name}' is taken by the pipeline on line ${namesake.document.locate(['name']).line}`);
    refuseClashes(later, [
      ...(path === undefined ? [] : [{ path, what: 'this file' }]),
      ...(stateDir === undefined ? [] : [{ path: resolve(from.baseDir, stateDir), what: `the state folder ${stateDir}` }]),
      ...earlier.flatMap(({ name = '(unnamed)', outputs }) =>
        outputs.map((output) => ({ path: output.path, what: `an output of the pipeline '${name}'` })),
      ),
    ]);
  });
  const all = [...(defaults ? checkDefaults(defaults, from, context) : []), ...checked.flatMap((document) => document.issues)];
  // What is wrong with inherited values is found in each pipeline.
  const once = new Map(all.map((issue) => [`${issue.line}:${issue.column} ${issue.message}`, issue]));
  const issues = [...once.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  return { pipelines: checked, issues, unset: [...new Set(checked.flatMap(({ unset }) => unset))] };
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
function refuseClashes(
  { outputs, problem }: Checked,
  taken: readonly { readonly path: string | undefined; readonly what: string }[],
): void {
  const clashes = outputs.flatMap(({ path, place }) => {
    const found = taken.find((other) => meet(path, other.path));
    return found ? [{ place, message: `${path ?? 'stdout'} is ${found.what}, or overlaps it; write somewhere else` }] : [];
  });
  // A rejects file is usually named after an output, whose problem is sufficient.
  for (const { place, message } of clashes.filter(({ place }) => place[0] === 'to' || clashes.length === 1)) problem(place, message);
}

function meet(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  // No two runs have the same id.
  return !(a.includes(runTemplate) && b.includes(runTemplate)) && collide(a, b);
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
  return noteRefused(
    new SpecError(code, file, issues, names),
    pipelines.map(({ name, hooks }) => ({ name, hook: hooks.failure })),
  );
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
