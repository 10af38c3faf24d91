import { join } from 'node:path';
import { parsePipeline, runPipeline, type Pipeline, type RunOptions } from '../../src/pipeline/index.js';
import type { Published, SinkWriter, UndeclaredField } from '../../src/sinks/index.js';
import { readManifest } from '../../src/sinks/index.js';
import { pipelineText, type LoggedService } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** A lead with enough fields for most steps. */
export const lead = (id: number, more: Readonly<Record<string, unknown>> = {}) => ({ lead_id: String(id), lead_status: 'sold', ...more });

/** A number of leads. */
export const leads = (count: number, more: (index: number) => Readonly<Record<string, unknown>> = () => ({})) =>
  Array.from({ length: count }, (_, index) => lead(index, more(index)));

/** A checked pipeline against a service. */
export function pipelineFor(from: LoggedService, body: string, baseDir: string): Pipeline {
  return parsePipeline(pipelineText(body), 'p.yaml', { env: from.env, baseDir, set: { 'service.retry.base': '1ms' } });
}

/** Runs a pipeline with a state folder of its own. */
export async function runIn(from: LoggedService, body: string, baseDir: string, options: RunOptions = {}) {
  return runPipeline(pipelineFor(from, body, baseDir), { stateDir: join(await temporaryFolder(), 'state'), ...options });
}

/**
 * Lets the table sinks of pipelines tell what stood there before, as their manifests say. The sinks will do that by themselves; then this
 * goes away.
 */
export function tablesThatRemember() {
  const undeclared = new Map<string, readonly UndeclaredField[]>();

  async function publishedAt(output: string | undefined): Promise<Published | undefined> {
    const manifest = output === undefined ? undefined : await readManifest(join(output, '_manifest.json'));
    if (!manifest || output === undefined) return undefined;
    return { runId: manifest.run_id, rows: manifest.rows, columns: manifest.schema, undeclared: undeclared.get(output) ?? [] };
  }

  function remembering(output: string, writer: SinkWriter, earlier: Published | undefined): SinkWriter {
    return {
      ...writer,
      earlier,
      finish: async () => {
        const staged = await writer.finish();
        return {
          ...staged,
          publication: (facts) => {
            undeclared.set(output, facts.undeclared ?? []);
            return staged.publication(facts);
          },
        };
      },
    };
  }

  return (pipeline: Pipeline): Pipeline => {
    const sinks = pipeline.plan.sinks.map((sink) => ({
      ...sink,
      open: async (context: Parameters<typeof sink.open>[0]) =>
        remembering(sink.output ?? '', await sink.open(context), await publishedAt(sink.output)),
    }));
    return { ...pipeline, plan: { ...pipeline.plan, sinks } };
  };
}
