import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SpecError, reasonOf } from '../../core/index.js';
import { checkPipeline, type Checked } from './check.js';
import { collide } from './collide.js';
import { credentialsIn } from './credentials.js';
import { runTemplate } from '../../store/index.js';
import { parseSpecDocuments, type Path } from './document.js';
import type { Pipeline } from './pipeline.js';
import { referenceSource, type Environment } from './reference-source.js';

/** What a pipeline file is read with. */
export interface LoadOptions {
  /** Default `process.env`. */
  readonly env?: Environment;
  /** Values that take the place of the file's, for example `{ 'service.limit': '100' }`. Not under `service.auth`. */
  readonly set?: Readonly<Record<string, string>>;
  /** Folder that the path of the pipeline file resolves against. Default: the working directory. */
  readonly cwd?: string;
  /** Folder that relative paths in the file resolve against. Default: `cwd`. */
  readonly baseDir?: string;
  /** State folder of the runs, in which no output may be; relative to `baseDir`. Default: the run looks for itself. */
  readonly stateDir?: string;
}

/**
 * Checks a pipeline file that holds one pipeline.
 *
 * @throws {SpecError} With every problem of the file, each with its place; also when it holds several pipelines.
 */
export async function loadPipeline(file: string, options: LoadOptions = {}): Promise<Pipeline> {
  return parsePipeline(await textOf(file, options), file, options);
}

/**
 * Checks a pipeline file that holds one pipeline or several, as YAML documents separated by `---`. Their names differ, and so
 * do their outputs.
 *
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its place.
 */
export async function loadPipelines(file: string, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  return parsePipelines(await textOf(file, options), file, options);
}

/**
 * Checks the text of a pipeline file that holds one pipeline.
 *
 * @param file Name for messages.
 * @throws {SpecError} With every problem, each with its place; also when it holds several pipelines.
 */
export function parsePipeline(text: string, file: string, options: LoadOptions = {}): Pipeline {
  const checked = checkDocuments(text, file, options);
  const [first, second] = checked;
  if (second) {
    const message = `the file holds ${checked.length} pipelines and one is wanted here; load them by loadPipelines, or keep one per file`;
    throw new SpecError('E_SPEC_INVALID', file, [{ message, ...second.document.locate([]) }]);
  }
  if (!first?.pipeline || first.issues.length > 0) throw failureOf(file, checked);
  return first.pipeline;
}

/**
 * Checks the text of a pipeline file that holds one pipeline or several.
 *
 * @param file Name for messages.
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its place.
 */
export function parsePipelines(text: string, file: string, options: LoadOptions = {}): readonly Pipeline[] {
  const checked = checkDocuments(text, file, options);
  const pipelines = checked.flatMap(({ pipeline }) => pipeline ?? []);
  if (checked.some(({ pipeline, issues }) => !pipeline || issues.length > 0)) throw failureOf(file, checked);
  return pipelines;
}

/**
 * Whether a run would write over a file, or a folder that it is in.
 *
 * @param file Absolute path.
 */
export function writesOver({ plan, rejects }: Pick<Pipeline, 'plan' | 'rejects'>, file: string): boolean {
  return [...plan.sinks.map(({ output }) => output), rejects.path].some((path) => path !== undefined && collide(path, file));
}

async function textOf(file: string, { cwd = process.cwd() }: LoadOptions): Promise<string> {
  try {
    return await readFile(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new SpecError('E_SPEC_YAML', file, [{ message: `cannot be read (${reasonOf(error)})`, line: 1, column: 1 }]);
  }
}

function checkDocuments(text: string, file: string, options: LoadOptions): readonly Checked[] {
  const { env = process.env, set = {}, cwd = process.cwd(), baseDir = cwd, stateDir } = options;
  const documents = parseSpecDocuments(file, text, overridesOf(file, set));
  const from = referenceSource(env, baseDir);
  const credentials = credentialsIn(
    documents.map(({ value }) => value),
    from,
  );
  const checked = documents.map((document) => checkPipeline(document, from, credentials));
  checked.forEach((later, index) => {
    for (const earlier of checked.slice(0, index)) refuseClashes(earlier, later);
  });
  if (stateDir !== undefined) for (const document of checked) refuseState(document, resolve(baseDir, stateDir));
  return checked;
}

function refuseState({ outputs, problem }: Checked, stateDir: string): void {
  const within = outputs.filter(({ path }) => path !== undefined && collide(stateDir, path));
  // A rejects file is usually named after an output, and the output says enough.
  for (const { path, place } of within.filter(({ place }) => place[0] === 'to' || within.length === 1))
    problem(place, `${path} is in the state folder ${stateDir}, or around it; write to another place`);
}

/** Pipelines of one file are told apart by their names, and neither writes over the other. */
function refuseClashes(earlier: Checked, later: Checked): void {
  const name = earlier.name ?? 'without a name';
  if (later.name !== undefined && later.name === earlier.name) {
    const { line } = earlier.document.locate(['name']);
    later.problem(['name'], `the name '${name}' is taken by the pipeline on line ${line}`);
  }
  const clashes = later.outputs.filter(({ path }) => earlier.outputs.some((taken) => meet(path, taken.path)));
  // A rejects file is usually named after an output, and the output says enough.
  for (const { path, place } of clashes.filter(({ place }) => place[0] === 'to' || clashes.length === 1)) {
    later.problem(place, `the pipeline '${name}' writes to ${path === undefined ? 'stdout' : 'the same path, or one within'} already`);
  }
}

function meet(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  // No two runs have the same id.
  return !(a.includes(runTemplate) && b.includes(runTemplate)) && collide(a, b);
}

function failureOf(file: string, checked: readonly Checked[]): SpecError {
  const issues = checked.flatMap((document) => document.issues);
  const code = issues.every(({ reference }) => reference) ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID';
  return new SpecError(
    code,
    file,
    issues.toSorted((a, b) => a.line - b.line || a.column - b.column),
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
