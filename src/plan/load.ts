import { SpecError } from '../core/index.js';
import type { Collection } from '../collections/index.js';
import { loadSteps } from '../steps/index.js';
import { runTemplate } from '../store/index.js';
import { collide } from './collide.js';
import { fileText } from './file-text.js';
import type { LoadOptions } from './definitions.js';
import type { LintedPipeline } from './lint.js';
import type { Pipeline } from './pipeline.js';

/**
 * Loads and checks a pipeline file that contains one pipeline.
 *
 * @throws {SpecError} With every problem of the file, each with its position; also if it contains several pipelines.
 * @throws {LeadstreamError} `E_USAGE` for custom steps or sinks whose names are taken; this also applies to the functions below.
 *
 * @example
 * const report = await runPipeline(await loadPipeline('pipelines/leads-enriched.yaml', { set: { 'service.limit': '100' } }));
 */
export async function loadPipeline(file: string, options: LoadOptions = {}): Promise<Pipeline> {
  return parsePipeline(await fileText(file, options), file, options);
}

/**
 * Loads and checks a pipeline file that contains one or more pipelines, as YAML documents separated by `---`. Their names must differ, and so must their
 * outputs. Values under `defaults` in a first document are inherited by all.
 *
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its position.
 *
 * @example
 * for (const each of await loadPipelines('pipelines/nightly-export.yaml')) await runPipeline(each);
 */
export async function loadPipelines(file: string, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  return parsePipelines(await fileText(file, options), file, options);
}

/**
 * Checks the text of a pipeline file that contains one pipeline.
 *
 * @param file Name for messages.
 * @throws {SpecError} With every problem, each with its position; also if it contains several pipelines.
 *
 * @example
 * const pipeline = await parsePipeline('name: users\nfrom: users\nto: [{ csv: { path: users.csv } }]', 'users.yaml');
 */
export async function parsePipeline(text: string, file: string, options: LoadOptions = {}): Promise<Pipeline> {
  const { checkDocuments, failureOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, options);
  const [first, second] = pipelines;
  if (second) {
    const message = `the file contains ${pipelines.length} pipelines, but one is expected here; load them with loadPipelines, or keep one per file`;
    throw new SpecError('E_SPEC_INVALID', file, [{ message, ...second.document.locate([]) }]);
  }
  if (!first?.pipeline || issues.length > 0) throw failureOf(file, issues, pipelines);
  return first.pipeline;
}

/**
 * Checks the text of a pipeline file that contains one or more pipelines.
 *
 * @param file Name for messages.
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its position.
 *
 * @example
 * const [users, links] = await parsePipelines(text, 'both.yaml');
 */
export async function parsePipelines(text: string, file: string, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  const { checkDocuments, failureOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, options);
  const sound = pipelines.flatMap(({ pipeline }) => pipeline ?? []);
  if (issues.length > 0 || sound.length < pipelines.length) throw failureOf(file, issues, pipelines);
  return sound;
}

/**
 * Loads the collections declared in all documents of a file, ignoring everything else in them.
 *
 * @throws {SpecError} With the problems of the first document whose collections are invalid.
 *
 * @example
 * const source = await openDirectory('data', await loadCollections('collections.yaml'));
 */
export async function loadCollections(file: string, options: LoadOptions = {}): Promise<readonly Collection[]> {
  const { collectionsIn } = await loadCheck();
  return collectionsIn(await fileText(file, options), file, options);
}

/**
 * Returns whether a run would overwrite a file, or a folder that contains it.
 *
 * @param file Absolute path.
 *
 * @example
 * writesOver(pipeline, '/srv/lake/leads/manifest.json'); // true for one that writes the table /srv/lake/leads
 */
export function writesOver(pipeline: Pick<Pipeline, 'plan' | 'rejects'> | Pick<LintedPipeline, 'writes'>, file: string): boolean {
  const isOfRun = file.includes(runTemplate);
  const paths = 'writes' in pipeline ? pipeline.writes : [...pipeline.plan.sinks.map(({ output }) => output), pipeline.rejects.path];
  // No two runs have the same id.
  return paths.some((path) => path !== undefined && !(isOfRun && path.includes(runTemplate)) && collide(path, file));
}

/** Loads what only pipeline files need, including YAML and CEL, on first use. */
export function loadCheck() {
  return import('./check-documents.js');
}

/**
 * Returns the JSON Schema (draft 7) of pipeline files, for editors.
 *
 * @example
 * await writeFile('pipeline.schema.json', JSON.stringify(await pipelineSchema()));
 */
export async function pipelineSchema(): Promise<object> {
  const [{ schemaWith }, steps] = await Promise.all([import('./json-schema.js'), loadSteps()]);
  return schemaWith(steps);
}

/**
 * Returns the reference of pipeline files as Markdown.
 *
 * @example
 * await writeFile('REFERENCE.md', await pipelineReference());
 */
export async function pipelineReference(): Promise<string> {
  const [{ referenceWith }, steps] = await Promise.all([import('./reference.js'), loadSteps()]);
  return referenceWith(steps);
}
