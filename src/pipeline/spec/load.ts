import { SpecError } from '../../core/index.js';
import type { Collection } from '../../collections/index.js';
import { runTemplate } from '../../store/index.js';
import { collide } from './collide.js';
import { fileText } from './file-text.js';
import { checkLoading, type LoadOptions } from './load-options.js';
import type { Pipeline } from './pipeline.js';

/**
 * Checks a pipeline file that holds one pipeline.
 *
 * @throws {SpecError} With every problem of the file, each with its place; also when it holds several pipelines.
 * @throws {LeadstreamError} `E_USAGE` for arguments that cannot be right; so do the functions below.
 *
 * @example
 * const report = await runPipeline(await loadPipeline('pipelines/leads-enriched.yaml', { set: { 'service.limit': '100' } }));
 */
export async function loadPipeline(file: string, options: LoadOptions = {}): Promise<Pipeline> {
  checkLoading('loadPipeline', { file }, options);
  return parsePipeline(await fileText(file, options), file, options);
}

/**
 * Checks a pipeline file that holds one pipeline or several, as YAML documents separated by `---`. Their names differ, and so
 * do their outputs. What a first document has under `defaults` is inherited by all.
 *
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its place.
 *
 * @example
 * for (const each of await loadPipelines('pipelines/nightly-export.yaml')) await runPipeline(each);
 */
export async function loadPipelines(file: string, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  checkLoading('loadPipelines', { file }, options);
  return parsePipelines(await fileText(file, options), file, options);
}

/**
 * Checks the text of a pipeline file that holds one pipeline.
 *
 * @param file Name for messages.
 * @throws {SpecError} With every problem, each with its place; also when it holds several pipelines.
 *
 * @example
 * const pipeline = await parsePipeline('name: users\nfrom: users\nto: [{ csv: { path: users.csv } }]', 'users.yaml');
 */
export async function parsePipeline(text: string, file: string, options: LoadOptions = {}): Promise<Pipeline> {
  checkLoading('parsePipeline', { file, text }, options);
  const { checkDocuments, failureOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, options);
  const [first, second] = pipelines;
  if (second) {
    const message = `the file holds ${pipelines.length} pipelines and one is wanted here; load them by loadPipelines, or keep one per file`;
    throw new SpecError('E_SPEC_INVALID', file, [{ message, ...second.document.locate([]) }]);
  }
  if (!first?.pipeline || issues.length > 0) throw failureOf(file, issues, pipelines);
  return first.pipeline;
}

/**
 * Checks the text of a pipeline file that holds one pipeline or several.
 *
 * @param file Name for messages.
 * @returns At least one, in the order of the file.
 * @throws {SpecError} With every problem of every document, each with its place.
 *
 * @example
 * const [users, links] = await parsePipelines(text, 'both.yaml');
 */
export async function parsePipelines(text: string, file: string, options: LoadOptions = {}): Promise<readonly Pipeline[]> {
  checkLoading('parsePipelines', { file, text }, options);
  const { checkDocuments, failureOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, options);
  const sound = pipelines.flatMap(({ pipeline }) => pipeline ?? []);
  if (issues.length > 0 || sound.length < pipelines.length) throw failureOf(file, issues, pipelines);
  return sound;
}

/**
 * The collections of one's own that a file declares, of all its documents; what else stands in these is not looked at.
 *
 * @throws {SpecError} With what is wrong with the first document whose collections cannot be right.
 *
 * @example
 * const tables = await openOwnTables('data', await loadCollections('collections.yaml'));
 */
export async function loadCollections(file: string, options: LoadOptions = {}): Promise<readonly Collection[]> {
  checkLoading('loadCollections', { file }, options);
  const { collectionsIn } = await loadCheck();
  return collectionsIn(await fileText(file, options), file, options);
}

/**
 * Whether a run would write over a file, or a folder that it is in.
 *
 * @param file Absolute path.
 *
 * @example
 * writesOver(pipeline, '/srv/lake/leads/manifest.json'); // true for one that writes the table /srv/lake/leads
 */
export function writesOver({ plan, rejects }: Pick<Pipeline, 'plan' | 'rejects'>, file: string): boolean {
  const isOfRun = file.includes(runTemplate);
  // No two runs have the same id.
  return [...plan.sinks.map(({ output }) => output), rejects.path].some(
    (path) => path !== undefined && !(isOfRun && path.includes(runTemplate)) && collide(path, file),
  );
}

/** What only files need, YAML and CEL among it, is loaded for the first of them. */
function loadCheck() {
  return import('./check-documents.js');
}
