import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parsePipeline, parsePipelines, runPipeline } from '../../../src/pipeline/index.js';
import { pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'a-key-of-some-length' };

/** A folder with links, given as what they point to by their names. */
async function folderWith(links: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of ['lake/.t.runs/run-1', 'out', 'other']) await mkdir(join(folder, name), { recursive: true });
  await symlink('.t.runs/run-1', join(folder, 'lake/t'));
  for (const [name, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await symlink(target, join(folder, name));
  }
  return folder;
}

const to = (first: string, second: string) => `from: users\nto:\n  - ${first}\n  - ${second}`;
const csv = (path: string) => `csv: { path: ${path} }`;
const table = 'parquet: { path: lake/t }';

const shared: readonly (readonly [what: string, first: string, second: string, links: Readonly<Record<string, string>>])[] = [
  ['a linked folder', csv('out/u.csv'), csv('link/u.csv'), { link: 'out' }],
  ['a link to a link', csv('out/u.csv'), csv('link/u.csv'), { link: 'other/link', 'other/link': '../out' }],
  ['a linked folder above folders that are missing', csv('out/a/b/u.csv'), csv('link/a/b/u.csv'), { link: 'out' }],
  ['two linked folders', csv('one/u.csv'), csv('two/u.csv'), { one: 'out', two: './other/../out' }],
  ['a link to the table that is the other', table, csv('link/u.csv'), { link: 'lake/t' }],
  ['a linked folder with the table that is the other', csv('link/t/u.csv'), table, { link: 'lake' }],
  ['a linked folder on one day', csv('"out/{{ run.date }}.csv"'), csv('link/2026-01-02.csv'), { link: 'out' }],
  ['a linked folder on every day', csv('"out/{{ run.date }}/u.csv"'), csv('"link/{{ run.date }}"'), { link: 'out' }],
  ['the folder of runs of the table that is the other', table, csv('link/.t.runs/u.csv'), { link: 'lake' }],
  ['a link to a run of the table that is the other', table, csv('link/u.csv'), { link: 'lake/.t.runs/run-1' }],
];

describe.each(shared)('two sinks on one place through %s', (_what, first, second, links) => {
  test('are refused when the file is checked', async () => {
    const baseDir = await folderWith(links);
    await expect(parsePipeline(pipelineText(to(first, second)), 'p.yaml', { env, baseDir })).rejects.toThrow(
      /to\[0\] writes to the same or an overlapping path/,
    );
  });

  test('are refused when they are in two pipelines of a file', async () => {
    const baseDir = await folderWith(links);
    const one = pipelineText(`from: users\nto:\n  - ${first}`);
    const two = pipelineText(`from: users\nto:\n  - ${second}`).replace('name: test', 'name: second');
    await expect(parsePipelines(`${one}\n---\n${two}`, 'p.yaml', { env, baseDir })).rejects.toThrow(
      /writes to the same or an overlapping path/,
    );
  });
});

const tableU = 'parquet: { path: out/u }';
const hidden: readonly (readonly [what: string, first: string, second: string])[] = [
  ['the lock of', csv('out/u'), csv('out/.u.lock')],
  ['a lock of takers of', csv('out/u'), csv('out/.u.lock-x.lock')],
  ['a partial file of', csv('out/u'), csv('out/.u.run-1.partial')],
  ['a partial file with the id of the run of', csv('"out/{{ run.date }}"'), csv('"out/.{{ run.date }}.run-1.partial"')],
  ['the runs of', tableU, csv('out/.u.runs')],
  ['a file in the runs of', tableU, csv('out/.u.runs/x/y')],
  ['what a gate refused of', tableU, csv('out/.u.failed/x')],
];

describe.each(hidden)('an output that is %s another', (_what, first, second) => {
  test.each([
    [first, second],
    [second, first],
  ])('is refused when the file is checked: %s, %s', async (one, other) => {
    const baseDir = await folderWith({});
    await expect(parsePipeline(pipelineText(to(one, other)), 'p.yaml', { env, baseDir })).rejects.toThrow(
      /to\[0\] writes to the same or an overlapping path/,
    );
  });
});

test.each(['out/.u', 'out/.u.csv', 'out/.u.locks', 'out/u.lock', 'out/.u.lockx.lock', 'out/x/.u.lock', 'out/.v.lock'])(
  'an output %s is another one than out/u',
  async (path) => {
    const baseDir = await folderWith({});
    expect((await parsePipeline(pipelineText(to(csv('out/u'), csv(path))), 'p.yaml', { env, baseDir })).plan.sinks).toHaveLength(2);
  },
);

describe.each([
  '.leadstream',
  '.leadstream/runs.ndjson',
  '.leadstream/counts/test.json',
  '.leadstream/x/{{ run.date }}',
  'link/x',
  'other/../.leadstream/x',
])('an output %s in the state folder', (path) => {
  const body = `from: users\nto: [{ csv: { path: '${path}' } }]`;

  test('is refused when the file is checked, where the folder is known', async () => {
    const baseDir = await folderWith({ link: '.leadstream/counts' });
    const load = (stateDir?: string) => parsePipelines(pipelineText(body), 'p.yaml', { env, baseDir, ...(stateDir && { stateDir }) });
    await expect(load('.leadstream')).rejects.toThrow(/is inside the state folder .*\/\.leadstream, or contains it/);
    expect(await load()).toHaveLength(1);
    expect(await load('elsewhere')).toHaveLength(1);
  });

  test('is refused by a run before any request', async () => {
    const [from, baseDir] = [await service(), await folderWith({ link: '.leadstream/counts' })];
    const pipeline = await parsePipeline(pipelineText(body), 'p.yaml', { env: from.env, baseDir });
    await mkdir(join(baseDir, '.leadstream/counts'), { recursive: true, mode: 0o700 });
    await expect(runPipeline(pipeline)).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining(`is inside the state folder ${baseDir}/.leadstream, or contains it`),
    });
    expect(from.requests).toEqual([]);
    expect(await readdir(join(baseDir, '.leadstream'))).toEqual(['counts']);
  });
});

test('an output around the state folder is refused', async () => {
  const baseDir = await folderWith({});
  const body = 'from: users\nto: [{ parquet: { path: lake } }]';
  const load = (stateDir: string) => parsePipelines(pipelineText(body), 'p.yaml', { env, baseDir, stateDir });
  for (const stateDir of ['lake/.leadstream', '.lake.runs', '.lake.runs/x', 'lake'])
    await expect(load(stateDir)).rejects.toThrow(/or contains it/);
  expect(await load('.leadstream')).toHaveLength(1);
});

test('a rejects file that is an output through a linked folder is refused', async () => {
  const baseDir = await folderWith({ link: 'out' });
  const body = `${to(csv('out/u.csv'), csv('out/v.csv'))}\nrejects: { path: link/u.csv }`;
  await expect(parsePipeline(pipelineText(body), 'p.yaml', { env, baseDir })).rejects.toThrow(/link\/u\.csv|rejects/);
});

test.each([
  ['folders with links beside them', csv('out/u.csv'), csv('other/u.csv')],
  ['two names, one of which links to the other by now', csv('out/u.csv'), csv('out/v.csv')],
  ['names that begin alike', csv('out/u.csv'), csv('out/u.csv.csv')],
  ['a file beside a table', table, csv('lake/t.csv')],
])('%s are taken', async (_what, first, second) => {
  const baseDir = await folderWith({ 'out/v.csv': 'u.csv', link: 'out', loop: 'loop' });
  expect((await parsePipeline(pipelineText(to(first, second)), 'p.yaml', { env, baseDir })).plan.sinks).toHaveLength(2);
});

test('two sinks on one file through a link that came after the check are refused before any request', async () => {
  const [from, baseDir] = [await service(), await temporaryFolder()];
  await mkdir(join(baseDir, 'out'));
  await writeFile(join(baseDir, 'out/u.csv'), 'old');
  const pipeline = await parsePipeline(pipelineText(to(csv('out/u.csv'), csv('link/u.csv'))), 'p.yaml', { env: from.env, baseDir });
  await symlink('out', join(baseDir, 'link'));
  await expect(runPipeline(pipeline)).rejects.toMatchObject({
    code: 'E_SINK_PATH',
    message: `${baseDir}/link/u.csv and ${baseDir}/out/u.csv are the same through a link, or one is inside the other; give each output its own path`,
  });
  expect(from.requests).toEqual([]);
  expect(await readdir(join(baseDir, 'out'))).toEqual(['u.csv']);
});
