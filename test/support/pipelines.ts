import { join } from 'node:path';
import { loadPipeline, type Pipeline } from '../../src/plan/index.js';
import { runPipeline, type RunOptions } from '../../src/run/index.js';
import { pipelineText, type LoggedService } from './services.js';
import { temporaryFolder } from './temporary.js';

/** A lead with enough fields for most steps. */
export const lead = (id: number, more: Readonly<Record<string, unknown>> = {}) => ({ lead_id: String(id), lead_status: 'sold', ...more });

/** Makes a number of leads. */
export const leads = (count: number, more: (index: number) => Readonly<Record<string, unknown>> = () => ({})) =>
  Array.from({ length: count }, (_, index) => lead(index, more(index)));

type Settings = Readonly<Record<string, string>>;

/** Parses and checks a pipeline against a service. */
export function pipelineFor(from: Pick<LoggedService, 'env'>, body: string, baseDir: string, set: Settings = {}): Promise<Pipeline> {
  return loadPipeline(
    { text: pipelineText(body), file: 'p.yaml' },
    { env: from.env, baseDir, set: { 'service.retry.base': '1ms', ...set } },
  );
}

/** Runs a pipeline with its own state folder. */
export async function runIn(
  from: Pick<LoggedService, 'env'>,
  body: string,
  baseDir: string,
  { set, ...options }: RunOptions & { readonly set?: Settings } = {},
) {
  return runPipeline(await pipelineFor(from, body, baseDir, set), { stateDir: join(await temporaryFolder(), 'state'), ...options });
}
