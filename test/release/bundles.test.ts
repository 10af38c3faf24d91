import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startService, generate, type RunningService } from '../../src/service/index.js';
import { start } from '../support/cli.js';
import { installed } from '../support/installed.js';

const packages = ['got', 'rxjs'];
const key = 'key-of-the-test';

/** What a first program does. */
const reading = `
  import { connect } from 'leadstream';
  const run = async () => {
    const service = connect({ baseUrl: process.env.URL, auth: { rest_api_key: '${key}' }, endWaitMs: 1, threads: 1 });
    let rows = 0;
    for await (const lead of service.leads) if (lead.lead_id) rows += 1;
    await service.close();
    console.log(rows);
  };
  run();
`;
/** What needs checks of files, too: steps have schemas. */
const steps = reading
  .replace('{ connect }', '{ connect, select, filter }')
  .replace('service.leads)', "service.leads.pipe(filter((lead) => lead.lead_id !== ''), select(['lead_id'])))");
const programs = { reading, steps };

let folder = '';
let service: RunningService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-'));
  await installed(folder);
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, `${name}.mjs`), text);
  service = await startService({ source: generate({ leads: 70 }), accounts: [{ uid: '7', key: 'pair-of-the-test', restApiKey: key }] });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const bundlers = [
  ['esbuild as a module', 'mjs'],
  ['esbuild as a small module', 'mjs'],
  ['esbuild as CommonJS', 'cjs'],
  ['rollup', 'mjs'],
  ['vite', 'mjs'],
] as const;

describe.each(bundlers)('a bundle by %s', (bundler, extension) => {
  test.each(Object.keys(programs))('of %s runs, and says once that it has no thread', async (program) => {
    const file = join(folder, `${program}-${bundler.replaceAll(' ', '-')}.${extension}`);
    const parameters = ['test/support/bundle.mjs', bundler, join(folder, `${program}.mjs`), file];
    expect(await start(process.execPath, parameters, { cwd: process.cwd() }).finished).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout, stderr } = await start(process.execPath, [file], { cwd: folder, env: { URL: service.url } }).finished;
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: '70\n' });
    expect(stderr.match(/W_THREADS/g)).toHaveLength(1);
  });
});

test('a program that reads begins with nothing of Parquet, CEL, YAML and Hono', async () => {
  const { metafile } = await esbuild({
    ...{ entryPoints: [join(folder, 'reading.mjs')], bundle: true, platform: 'node', format: 'esm', minify: true, write: false },
    ...{ external: packages, metafile: true, outdir: folder, splitting: true, logLevel: 'silent' },
  });
  const begun = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint?.endsWith('reading.mjs'));
  const files = new Set(begun.map(([file]) => file));
  for (const file of files)
    for (const { path, kind } of metafile.outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && path in metafile.outputs) files.add(path);
  const inputs = [...files].flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}));
  expect(inputs.filter((input) => /cel-js|parquet-wasm|hyparquet|yaml/.test(input))).toEqual([]);
});

test.each(Object.entries({ reading: 300_000, steps: 330_000 }))(
  'a program of %s has at most %i bytes beside got and rxjs',
  async (program, most) => {
    const { outputFiles } = await esbuild({
      ...{ entryPoints: [join(folder, `${program}.mjs`)], bundle: true, platform: 'node', format: 'esm', minify: true, write: false },
      ...{ external: packages, logLevel: 'silent' },
    });
    expect(outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)).toBeLessThan(most);
  },
);
