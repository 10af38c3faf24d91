import { EventEmitter, once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadPipeline, type Pipeline } from '../../src/plan/index.js';
import { runPipeline, type RunOptions } from '../../src/run/index.js';
import { generate, openDirectory, type RunningService, type DataSource } from '../../src/service/index.js';
import { closeAfter } from './closing.js';
import { startMisbehaving, type Misbehaviour } from './misbehaviour.js';
import { folderWith, temporaryFolder } from './temporary.js';

/** The key that test services accept, odd enough to reveal every way of quoting it. */
export const testKey = 'k+e y/%&é"7f3a9c';

/** A service that logs every answered request: `leads?page=1&limit=500`. */
export interface LoggedService extends RunningService {
  readonly requests: string[];
  /** The requests that were only checks. */
  readonly probes: string[];
  /** Environment of a run against it. */
  readonly env: Readonly<Record<string, string>>;
  /** Waits until the answered requests satisfy a condition. */
  until(wanted: (requests: readonly string[]) => boolean): Promise<void>;
}

/** Starts a service for one test, by default with 1,200 generated leads. */
export async function service(
  source: DataSource = generate({ leads: 1_200, bridges: 20, seed: 7 }),
  options: Partial<Misbehaviour> = {},
): Promise<LoggedService> {
  const requests: string[] = [];
  const probes: string[] = [];
  const answers = new EventEmitter();
  const started = await startMisbehaving({
    source,
    accounts: [{ restApiKey: testKey }],
    onRequest: ({ collection, id, page, limit, purpose }) => {
      (purpose === 'probe' ? probes : requests).push(id === null ? `${collection}?page=${page}&limit=${limit}` : `${collection}/${id}`);
      answers.emit('answered');
    },
    ...options,
  });
  closeAfter(started);
  const env = { LEADSTREAM_BASE_URL: started.url, LEADSTREAM_REST_API_KEY: testKey };
  const until: LoggedService['until'] = async (wanted) => {
    while (!wanted(requests)) await once(answers, 'answered');
  };
  return { ...started, requests, probes, env, until };
}

/** Reads all pages of a list without any of our own code. */
export async function listed(from: RunningService, collection: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const rows: Record<string, string>[] = [];
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({ rest_api_key: testKey, page: String(page), limit: '500' }).toString();
    const more = (await (await fetch(`${from.url}/api/${collection}?${query}`)).json()) as Record<string, string>[];
    if (more.length === 0) return rows;
    rows.push(...more);
  }
}

/** Serves the given records, which have the service's own field names. */
export async function serviceOf(records: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>): Promise<LoggedService> {
  const folder = join(await temporaryFolder(), 'data');
  await mkdir(folder);
  for (const [collection, rows] of Object.entries(records)) {
    await writeFile(join(folder, `${collection}.ndjson`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  return service(await openDirectory(folder));
}

/** Returns a pipeline file for a service whose URL and key are in the environment. */
export function pipelineText(body: string): string {
  const service = [
    'service:',
    '  base_url: ${LEADSTREAM_BASE_URL}',
    '  auth: { rest_api_key: "${LEADSTREAM_REST_API_KEY}" }',
    '  limit: 100',
    '  end_wait: 1ms',
  ];
  return ['name: test', ...service, body].join('\n');
}

/** A folder with the pipeline file `p.yaml`. */
export const workplace = (body: string) => folderWith({ 'p.yaml': pipelineText(body) });

export const toCsv = 'from: leads\nto:\n  - csv: { path: out/leads.csv }';
export const toStdout = 'from: leads\nto:\n  - stdout: {}';

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
