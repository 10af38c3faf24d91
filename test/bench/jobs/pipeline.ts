import { join } from 'node:path';
import type * as Leadstream from '../../../src/index.js';
import { key, type Work } from '../job.js';

/** Runs `pipeline.yaml` in the folder, as the command does. */
export async function prepare({ library }: { readonly library: string }): Promise<Work> {
  const { loadPipeline, runPipeline }: typeof Leadstream = await import(library);
  return async ({ folder }) => {
    const pipeline = await loadPipeline(join(folder, 'pipeline.yaml'), { env: { BENCH_KEY: key }, baseDir: folder });
    return (await runPipeline(pipeline)).read;
  };
}
