import { join } from 'node:path';
import { parsePipeline, runPipeline, type Pipeline, type RunOptions } from '../../src/pipeline/index.js';
import { pipelineText, type LoggedService } from './services.js';
import { temporaryFolder } from './temporary.js';

/** A lead with enough fields for most steps. */
export const lead = (id: number, more: Readonly<Record<string, unknown>> = {}) => ({ lead_id: String(id), lead_status: 'sold', ...more });

/** A number of leads. */
export const leads = (count: number, more: (index: number) => Readonly<Record<string, unknown>> = () => ({})) =>
  Array.from({ length: count }, (_, index) => lead(index, more(index)));

type Settings = Readonly<Record<string, string>>;

/** A checked pipeline against a service. */
export function pipelineFor(from: LoggedService, body: string, baseDir: string, set: Settings = {}): Promise<Pipeline> {
  return parsePipeline(pipelineText(body), 'p.yaml', { env: from.env, baseDir, set: { 'service.retry.base': '1ms', ...set } });
}

/** Runs a pipeline with a state folder of its own. */
export async function runIn(
  from: LoggedService,
  body: string,
  baseDir: string,
  { set, ...options }: RunOptions & { readonly set?: Settings } = {},
) {
  return runPipeline(await pipelineFor(from, body, baseDir, set), { stateDir: join(await temporaryFolder(), 'state'), ...options });
}
