import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { tableFiles } from '../../src/lake/index.js';
import { start } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { finalCodes } from '../support/examples.js';
import { service, testKey } from '../support/services.js';
import { folderWith } from '../support/temporary.js';

const example = (name: string) => join(process.cwd(), 'examples', 'cluster', name);
const recipes = ['leadstream-xargs.sh', 'leadstream_spark.py', 'leadstream_airflow.py', 'leadstream-kubernetes.yaml'];

/** A folder with a pipeline file, and a command that is the built one after `first`, a line of a shell. */
async function machine(first = '') {
  const { env } = await service();
  const main = join(process.cwd(), 'dist', 'cli', 'main.cjs');
  const cwd = await folderWith({
    'leads/leads.yaml': 'name: leads\nservice: { limit: 50, end_wait: 0s }\nfrom: leads\nto:\n  - parquet: { path: lake/leads }\n',
    'leads/leadstream.env': `LEADSTREAM_BASE_URL='${env['LEADSTREAM_BASE_URL']}'\nLEADSTREAM_REST_API_KEY='${testKey}'\n`,
    'bin/leadstream': `#!/bin/sh\n${first}\nexec '${process.execPath}' '${main}' "$@"\n`,
    'bin/sleep': '#!/bin/sh\n',
  });
  for (const name of ['leadstream', 'sleep']) await chmod(join(cwd, 'bin', name), 0o755);
  const run = (program: string, words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    start(program, words, { cwd, env: { ...env, PATH: `${cwd}/bin:${process.env['PATH']}`, ...more } }).finished;
  const rows = async () => {
    const paths = (await tableFiles(join(cwd, 'lake/leads'))).files.map((path) => `'${path}'`).join();
    return duckdb(`SELECT count(*)::INTEGER AS rows, count(DISTINCT lead_id)::INTEGER AS leads FROM read_parquet([${paths}])`);
  };
  return { cwd, run, rows };
}

const all = [{ rows: 1_200, leads: 1_200 }];

test.each(recipes)('%s has sixty lines at most, and ends at once after the codes that need a person', async (name) => {
  const text = await readFile(example(name), 'utf8');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  const lists = [...text.matchAll(/(?<=FINAL = \{|values: \[|in 0 \| )[\d, |]+/g)].map(([list]) => list.match(/\d+/g)?.map(Number));
  expect(lists).not.toEqual([]);
  for (const list of lists) expect(list).toEqual(finalCodes);
});

describe('xargs', () => {
  test('publishes all rows, though each command is stopped once', async () => {
    const { run, rows } = await machine('[ -e "once-$1-$4" ] || { : > "once-$1-$4"; exit 75; }');
    const finished = await run('sh', [example('leadstream-xargs.sh'), 'leads/leads.yaml'], { SHARDS: '3', PARALLEL: '2' });
    expect(finished).toMatchObject({ code: 0, stdout: '' });
    expect(await rows()).toEqual(all);
  });

  test('starts no further shard after one that needs a person, and commits nothing', async () => {
    const { cwd, run } = await machine('echo "$1" >> started; [ "$1" = plan ] || exit 78');
    const finished = await run('sh', [example('leadstream-xargs.sh'), 'leads/leads.yaml'], { SHARDS: '5', PARALLEL: '1' });
    expect(finished.code).not.toBe(0);
    expect(await readFile(join(cwd, 'started'), 'utf8')).toBe('plan\nshard\n');
  });
});

test('Kubernetes: the pods publish all rows, as many at a time as the plan was made for', async () => {
  const { cwd, run, rows } = await machine();
  const text = (await readFile(example('leadstream-kubernetes.yaml'), 'utf8')).replace('s3://lake/work', join(cwd, 'work'));
  const [plan, shards, commit] = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS().spec);
  let folder = '';
  const pod = async ({ template }: typeof plan, index = '') => {
    const words: string[] = template.spec.containers[0].args;
    const placed = words.map((word) => word.replace('$(PLAN)', folder));
    const finished = await run('leadstream', placed, { JOB_COMPLETION_INDEX: index, LEADSTREAM_BASE_URL: '', LEADSTREAM_REST_API_KEY: '' });
    expect(finished).toMatchObject({ code: 0 });
    return finished;
  };
  const { stdout, stderr } = await pod(plan);
  expect(stderr).toBe('');
  folder = stdout.trim();
  const planned = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8'));
  expect(planned).toMatchObject({ shards: shards.completions, parallel: shards.parallelism });
  for (let index = 0; index < shards.completions; index += 1) await pod(shards, String(index));
  await pod(commit);
  expect(await rows()).toEqual(all);
  expect(await run('leadstream', ['verify', 'lake/leads'])).toMatchObject({ code: 0 });
});
