import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCli } from '../support/cli.js';
import type { Misbehaviour } from '../support/misbehaviour.js';
import { pipelineText, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

const steps = `
from: leads
steps:
  - dedupe: {}
  - derive: { zip_city: zip_city(zipcode), zip_state: zip_state(zipcode) }
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title, niche] }
  - join: { with: users, on: { uid: uid }, as: user, select: [email, affid] }
rejects: { max: 100% }
to:
  - parquet: { path: lake/leads, row_group_rows: 300, threads: THREADS }
  - csv: { path: leads.csv }
`;

/** Digests of what a run with so many threads of each kind publishes. */
async function published(threads: number, options: Partial<Misbehaviour>): Promise<Readonly<Record<string, unknown>>> {
  const [cwd, from] = [await temporaryFolder(), await service(undefined, options)];
  const text = pipelineText(steps.replace('THREADS', String(threads))).replace(
    '  limit: 100',
    `  limit: 400\n  retry: { base: 1ms }\n  threads: ${threads}`,
  );
  await writeFile(join(cwd, 'p.yaml'), text);
  const { code, stderr } = await startCli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env }).finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const table = join(cwd, 'lake/leads');
  const parts = (await readdir(table)).filter((name) => name.endsWith('.parquet')).sort();
  const digest = createHash('sha256');
  for (const part of parts) digest.update(await readFile(join(table, part)));
  return {
    parts: parts.length,
    parquet: digest.digest('hex'),
    csv: createHash('sha256')
      .update(await readFile(join(cwd, 'leads.csv')))
      .digest('hex'),
    rejects: await readFile(join(cwd, 'lake/leads.rejects.ndjson'), 'utf8').catch(() => ''),
  };
}

test('the files are the same with threads and without, with odd rows among them and failures in between', async () => {
  const quirks = { 'missing-fields': 0.002, 'non-strings': 0.002, 'unknown-fields': 0.002, 'proto-key': 0.002 };
  const options = { quirks, faults: ['503=0@page=3,times=2', 'cut=chunked@page=2,times=1'], seed: 3 };
  const [one, other] = [await published(0, options), await published(1, options)];
  expect(one).toEqual(other);
});

test('ends with 0 also when the thread still answers while it is ended, as after a limit', async () => {
  const [cwd, from] = [await temporaryFolder(), await service()];
  const chain = 'from: leads\nsteps:\n  - limit: 300\n  - sort: { by: [lead_id desc] }\n  - limit: 2\nto:\n  - stdout: {}\n';
  await writeFile(join(cwd, 'p.yaml'), pipelineText(chain).replace('  limit: 100', '  limit: 100\n  threads: 1'));
  for (let times = 0; times < 3; times += 1)
    expect(await startCli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env }).finished).toMatchObject({ code: 0, stderr: '' });
});
