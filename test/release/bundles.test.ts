import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { startService, generate, type RunningService } from '../../src/service/index.js';
import { start } from '../support/cli.js';
import { installed } from '../support/installed.js';

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

function bundled(program: string, options: { readonly format: 'esm' | 'cjs'; readonly metafile?: boolean; readonly splitting?: boolean }) {
  return build({
    ...{ entryPoints: [join(folder, `${program}.mjs`)], outdir: folder, bundle: true, minify: true, write: false },
    ...{ platform: 'node', target: 'node20.19', external: ['got', 'rxjs'], logLevel: 'silent' },
    ...options,
  });
}

describe.each(['esm', 'cjs'] as const)('a bundle by esbuild as %s', (format) => {
  test.each(Object.keys(programs))('of %s runs, is small, and warns once that it has no thread', async (program) => {
    const { outputFiles } = await bundled(program, { format });
    const [output] = outputFiles ?? [];
    expect(output?.contents.length).toBeLessThan(330_000);
    const file = join(folder, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`);
    await writeFile(file, output?.contents ?? '');
    const { code, stdout, stderr } = await start(process.execPath, [file], { cwd: folder, env: { URL: service.url } }).finished;
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: '70\n' });
    expect(stderr.match(/W_THREADS/g)).toHaveLength(1);
  });
});

test('a program that reads begins with nothing of Parquet, CEL, YAML and Hono', async () => {
  const { metafile } = await bundled('reading', { format: 'esm', metafile: true, splitting: true });
  const outputs = metafile?.outputs ?? {};
  const files = new Set(Object.keys(outputs).filter((file) => outputs[file]?.entryPoint?.endsWith('reading.mjs')));
  for (const file of files)
    for (const { path, kind } of outputs[file]?.imports ?? []) if (kind === 'import-statement' && path in outputs) files.add(path);
  const inputs = [...files].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}));
  expect(inputs.filter((input) => /cel-js|parquet-wasm|hyparquet|yaml/.test(input))).toEqual([]);
  expect(inputs.length).toBeGreaterThan(1);
});
