import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SpecError, itemAt, reasonOf, type Warning } from '../core/index.js';
import type { Collection } from '../collections/index.js';
import { getIn } from '../options/index.js';
import { loadSteps } from '../steps/index.js';
import { errnoOf } from '../store/index.js';
import type { Checked } from './check.js';
import type { LoadOptions } from './definitions.js';
import type { Pipeline } from './pipeline.js';
import { collideAcrossRuns } from './plan.js';

/** A pipeline file: its path, or its text and a name for messages. */
export type PipelineFile = string | { readonly text: string; readonly file: string };

/**
 * Loads and checks a pipeline file that contains one pipeline.
 *
 * @throws {SpecError} With all problems of the file and their positions; also if it contains several pipelines.
 * @throws {LeadstreamError} `E_USAGE` for custom steps or sinks whose names are taken, as in the functions below.
 *
 * @example
 * const report = await runPipeline(await loadPipeline('pipelines/leads-enriched.yaml', { set: { 'service.limit': '100' } }));
 */
export async function loadPipeline(file: PipelineFile, options: LoadOptions = {}): Promise<Pipeline> {
  const pipelines = await loadPipelines(file, options);
  if (pipelines.length === 1) return itemAt(pipelines, 0);
  const message = `the file contains ${pipelines.length} pipelines; load them with loadPipelines`;
  throw new SpecError('E_SPEC_INVALID', typeof file === 'string' ? file : file.file, [{ message, line: 1, column: 1 }]);
}

/**
 * Loads and checks a pipeline file that contains one or more pipelines, as YAML documents separated by `---`.
 *
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With all problems of all documents and their positions.
 *
 * @example
 * for (const each of await loadPipelines('pipelines/nightly-export.yaml')) await runPipeline(each);
 */
export async function loadPipelines(given: PipelineFile, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  const { text, file } = typeof given === 'string' ? { text: await fileText(given, options), file: given } : given;
  const { checkDocuments, specErrorOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, options);
  const sound = pipelines.flatMap(({ pipeline }) => pipeline ?? []);
  if (issues.length > 0 || sound.length < pipelines.length) throw specErrorOf(file, issues, pipelines);
  return sound;
}

/** Loads the collections that a file declares, and ignores everything else in it. @throws {SpecError} */
export async function loadCollections(file: string, options: LoadOptions = {}): Promise<readonly Collection[]> {
  const { collectionsIn } = await loadCheck();
  return collectionsIn(await fileText(file, options), file, options);
}

/** Returns whether a run would overwrite a file or a folder that contains it. @param file Absolute path. */
export function writesOver({ plan, rejects }: Pick<Pipeline, 'plan' | 'rejects'>, file: string): boolean {
  const paths = [...plan.sinks.map(({ output }) => output), rejects.path];
  return paths.some((path) => path !== undefined && collideAcrossRuns(path, file));
}

/** Loads what only pipeline files need, such as YAML and CEL, on first use. */
export function loadCheck() {
  return import('./check.js');
}

export async function pipelineSchema(): Promise<object> {
  const [{ schemaWith }, steps] = await Promise.all([import('./json-schema.js'), loadSteps()]);
  return schemaWith(steps);
}

export async function pipelineReference(): Promise<string> {
  const [{ referenceWith }, steps] = await Promise.all([import('./reference.js'), loadSteps()]);
  return referenceWith(steps);
}

/** @throws {SpecError} `E_SPEC_FILE` if it cannot be read, `E_SPEC_YAML` if it is not UTF-8. */
export async function fileText(file: string, { cwd = process.cwd() }: { readonly cwd?: string | undefined }): Promise<string> {
  const bytes = await readFile(resolve(cwd, file)).catch((error: unknown) => {
    const isFolder = errnoOf(error) === 'EISDIR';
    const message = isFolder ? 'is a folder; name the files in it' : `cannot be read (${reasonOf(error)})`;
    throw new SpecError('E_SPEC_FILE', file, [{ message, line: 1, column: 1 }]);
  });
  const text = bytes.toString('utf8');
  const wrong = text.indexOf(isUtf8(bytes) ? '\0' : '\uFFFD');
  if (wrong < 0) return text;
  const before = text.slice(0, wrong).split('\n');
  const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  throw new SpecError('E_SPEC_YAML', file, [{ message: 'this is not text in UTF-8; save the file as UTF-8', ...place }]);
}

/** A finding in a pipeline file. Lines and columns are 1-based. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: SpecError['code'] | Warning['code'];
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** A pipeline of a file, as far as it is known. */
export interface LintedPipeline {
  /** As written in the file, if its references are not set. */
  readonly name: string;
  /** The names of its collection, steps and sinks. */
  readonly from: string;
  readonly steps: readonly string[];
  readonly to: readonly string[];
  readonly columns: readonly string[];
  /** What may surprise, and what outputs cost, in sentences. No warnings. */
  readonly notes?: readonly string[];
}

/** The result of checking a pipeline file. */
export interface LintResult {
  readonly ok: boolean;
  /** Errors and warnings, in the order of the file. */
  readonly findings: readonly Finding[];
  readonly pipelines: readonly LintedPipeline[];
  /** Unset references of the file: names of variables, and `file:PATH`. */
  readonly unset: readonly string[];
}

/** How a pipeline file is checked. */
export interface LintOptions extends LoadOptions {
  /** Whether references must be set. Default `false`: values that depend on unset ones are not checked. */
  readonly envCheck?: boolean;
  /** Whether warnings are errors. Default `false`. */
  readonly strict?: boolean;
}

/**
 * Checks a pipeline file without running it, also without credentials. Problems of the file are in the result.
 *
 * @throws {LeadstreamError} `E_USAGE` for custom steps or sinks whose names are taken.
 *
 * @example
 * const { ok, findings } = await lintPipelines('pipelines/leads-enriched.yaml', { strict: true });
 * // findings: [{ severity: 'error', code: 'E_SPEC_INVALID', message: "unknown step 'filtre', …", line: 7, column: 5 }]
 */
export async function lintPipelines(file: string, options: LintOptions = {}): Promise<LintResult> {
  const { envCheck = false, strict = false, ...loading } = options;
  const path = resolve(options.cwd ?? process.cwd(), file);
  const { checkDocuments } = await loadCheck();
  try {
    const { pipelines, issues, unset } = await checkDocuments(await fileText(file, options), file, loading, { lenient: !envCheck, path });
    const warnings = pipelines.flatMap((checked) => [...checked.issues.warnings, ...checked.advice]);
    const findings = [
      ...issues.map((issue) => ({ severity: 'error' as const, ...issue })),
      ...warnings.map((warning) => ({ severity: strict ? ('error' as const) : ('warning' as const), ...warning })),
    ].toSorted((a, b) => a.line - b.line || a.column - b.column);
    return { ok: findings.every(({ severity }) => severity === 'warning'), findings, pipelines: pipelines.flatMap(linted), unset };
  } catch (failure) {
    if (!(failure instanceof SpecError)) throw failure;
    const findings = failure.issues.map((issue) => ({ severity: 'error' as const, code: failure.code, ...issue }));
    return { ok: false, findings, pipelines: [], unset: [] };
  }
}

function linted({ document: { value }, issues, name, plan }: Checked): readonly LintedPipeline[] {
  // A valid name with unset references is unknown.
  const written = issues.all.length === 0 ? getIn(value, ['name']) : undefined;
  const known = name ?? (typeof written === 'string' ? written : undefined);
  if (known === undefined || plan === undefined) return [];
  const namesIn = (list: 'steps' | 'to') => {
    const entries = getIn(value, [list]);
    return Array.isArray(entries) ? entries.flatMap((entry: unknown) => Object.keys(Object(entry) as object)) : [];
  };
  const notes = [...issues.notes, ...plan.sinks.flatMap(({ at, definition, config }) => definition.costs?.(config, at) ?? [])];
  return [
    {
      name: known,
      from: plan.collection.name,
      steps: namesIn('steps'),
      to: namesIn('to'),
      columns: plan.columns().map((column) => column.name),
      ...(notes.length > 0 && { notes }),
    },
  ];
}
