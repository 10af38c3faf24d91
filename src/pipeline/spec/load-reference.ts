import { loadSteps } from '../../steps/index.js';

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
