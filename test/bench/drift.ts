/**
 * Counts the runs over a changing list that silently lose rows, and the requests that each kind of check costs:
 *
 *   npm run bench:drift            # 200 seeds, 40 pages of 500 rows, one change per 10 page reads
 *
 * Prints a table in Markdown.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LeadstreamError, parsePipeline, runPipeline } from '../../src/index.js';
import { generate } from '../../src/service/index.js';
import { startMisbehaving } from '../support/misbehaviour.js';

const seeds = Number(process.env.LEADSTREAM_SEEDS ?? 200);
const limit = Number(process.env.LEADSTREAM_LIMIT ?? 500);
const pages = 40;
const key = 'bench-key-0123456789';
const source = generate({ leads: pages * limit, bridges: 5, links: 5, users: 5, seed: 3 });
const folder = await mkdtemp(join(tmpdir(), 'leadstream-drift-'));

interface Result {
  readonly outcome: string;
  readonly lost: number;
  readonly requests: number;
}

async function read(mode: string, seed: number): Promise<Result> {
  let requests = 0;
  const service = await startMisbehaving({
    source,
    seed,
    accounts: [{ restApiKey: key }],
    drift: { every: 10 },
    onRequest: () => {
      requests += 1;
    },
  });
  const file = join(folder, `${mode}-${seed}.ndjson`);
  const text = JSON.stringify({
    name: 'drift',
    service: { base_url: service.url, auth: { rest_api_key: '${KEY}' }, limit: String(limit) },
    from: 'leads',
    consistency: mode,
    max_passes: '30',
    to: [{ ndjson: { path: file } }],
  });
  try {
    const report = await runPipeline(await parsePipeline(text, 'drift', { env: { KEY: key }, baseDir: folder }));
    const seen = new Set((await readFile(file, 'utf8')).split('\n').map((line) => /"lead_id":"([^"]*)"/.exec(line)?.[1] ?? ''));
    const lost = [...service.survivors].filter((lead) => !seen.has(lead)).length;
    return { outcome: report.consistency.outcome, lost, requests };
  } catch (error) {
    if (!(error instanceof LeadstreamError)) throw error;
    return { outcome: error.code, lost: 0, requests };
  } finally {
    await service.close();
    await rm(file, { force: true });
  }
}

console.log(`${seeds} seeds, ${pages} pages of ${limit} rows, one change per 10 page reads\n`);
console.log('| consistency | runs that lost rows | of these, told (drifted or exit 65) | untold | outcomes | requests per run |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const mode of ['off', 'check', 'repair', 'prove']) {
  const results: Result[] = [];
  for (let seed = 0; seed < seeds; seed += 1) results.push(await read(mode, seed));
  const lossy = results.filter(({ lost }) => lost > 0);
  const told = lossy.filter(({ outcome }) => outcome === 'drifted');
  const outcomes = new Map<string, number>();
  for (const { outcome } of results) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const counts = [...outcomes].map(([outcome, runs]) => `${outcome} ${runs}`).join(', ');
  const requests = Math.round(results.reduce((sum, result) => sum + result.requests, 0) / results.length);
  console.log(`| ${mode} | ${lossy.length} | ${told.length} | ${lossy.length - told.length} | ${counts} | ${requests} |`);
}
await rm(folder, { recursive: true, force: true });
