import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Leadstream from '../../src/index.js';
import { start } from '../support/cli.js';
import { json, ownServer } from '../support/odd-server.js';
import { temporaryFolder } from '../support/temporary.js';

/** What a process has loaded: counted, since seconds depend on the machine. */
interface Loaded {
  /** Files of this package. */
  readonly files: readonly string[];
  /** The packages that it loaded or that ran within those files, by name. */
  readonly packages: readonly string[];
  /** The modules that ran within those files, like `src/core/index.ts`. */
  readonly modules: readonly string[];
}

const preload = pathToFileURL(join(process.cwd(), 'test/support/loaded-preload.mjs')).href;
const command = 'dist/cli/main.cjs';

async function loadedBy(...words: readonly string[]): Promise<Loaded> {
  const folder = await temporaryFolder();
  const list = join(folder, 'loaded');
  const env = { HOME: folder, LOADED: list, LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
  const { code, stderr } = await start(process.execPath, ['--import', preload, ...words], { cwd: process.cwd(), env }).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = (await readFile(list, 'utf8')).trim().split('\n');
  const ran = lines.filter((line) => !/^(?:\/|\w+:)/.test(line));
  const paths = new Set(lines.flatMap((line) => (line.startsWith('file:') ? [fileURLToPath(line)] : line.startsWith('/') ? [line] : [])));
  const files = [...paths].filter((path) => path.startsWith(join(process.cwd(), 'dist')));
  // The module's own files have no functions of modules: what is in one of them runs.
  const texts = await Promise.all(files.filter((path) => path.endsWith('.js')).map((file) => readFile(file, 'utf8')));
  const within = texts.flatMap((text) =>
    [...text.matchAll(/^\/\/#region ((?:\.\.\/|\w+\/)*(?:src|node_modules)\/[^\s"]+)/gm)].map(([, path = '']) => path),
  );
  const packages = [...paths, ...ran, ...within].flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return { files, packages: [...new Set(packages)].toSorted(), modules: [...ran, ...within].filter((path) => path.startsWith('src/')) };
}

test('importing the library loads a few files and RxJS', async () => {
  const program = `await import('${pathToFileURL('dist/leadstream.js').href}')`;
  const { files, packages, modules } = await loadedBy('--input-type=module', '--eval', program);
  expect(packages).toEqual(['rxjs']);
  expect(
    modules.filter((path) => /^src\/(?:cli|pipeline\/spec\/(?:check|spec|plan)|steps\/expression\/expression|service\/app)/.test(path)),
  ).toEqual([]);
  expect(files.length).toBeLessThan(25);
});

test('a program that reads rows loads neither schemas nor engines, expressions or servers', async () => {
  const server = await ownServer(json([{ id: '1' }]));
  const reading = `
    const { connect } = await import('${pathToFileURL('dist/leadstream.js').href}');
    const service = connect({ baseUrl: '${server.url}', auth: { rest_api_key: 'key-of-the-test' }, endWaitMs: 1 });
    for await (const link of service.links) link.id;
    await service.close();
  `;
  const { packages, modules } = await loadedBy('--input-type=module', '--eval', reading);
  server.close();
  expect(packages).toEqual(expect.arrayContaining(['got', 'rxjs']));
  expect(packages.filter((name) => /^(?:zod|yaml|@marcbachmann|parquet|hyparquet|fast-csv|zipcodes|https?-proxy)/.test(name))).toEqual([]);
  expect(modules.filter((path) => /^src\/(?:steps\/expression\/expression|parquet\/engines\/|service\/app)/.test(path))).toEqual([]);
});

test('--help loads the parser of the command line', async () => {
  const { files, packages, modules } = await loadedBy(command, '--help');
  expect(packages).toContain('yargs');
  expect(packages.filter((name) => /^(?:rxjs|zod|yaml|got|fast-csv|zipcodes|@marcbachmann|hyparquet|parquet)/.test(name))).toEqual([]);
  expect(new Set(modules.map((path) => path.split('/')[1]))).toEqual(new Set(['cli', 'collections', 'core', 'store']));
  expect(files.length).toBeLessThan(15);
});

test('validate loads no HTTP and no engine of Parquet', async () => {
  const { files, packages, modules } = await loadedBy(command, 'validate', 'pipelines/leads-enriched.yaml', '--quiet');
  expect(packages).toEqual(expect.arrayContaining(['@marcbachmann/cel-js', 'rxjs', 'yaml', 'zod']));
  expect(packages.filter((name) => /^(?:got|fast-csv|zipcodes|hyparquet|parquet|@bokuweb)/.test(name))).toEqual([]);
  expect(modules.filter((path) => /^src\/(?:http\/transport|parquet\/engines\/|service\/(?:app|service))/.test(path))).toEqual([]);
  // Some of them are the grammar of the faults that its tests have.
  expect(files.length).toBeLessThan(50);
});

test('errors of the bundled module have the names of their classes', async () => {
  const module = await import(pathToFileURL(join(process.cwd(), 'dist/index.js')).href);
  const { GateError, SourceError, LeadstreamError }: typeof Leadstream = module;
  const names = [
    new GateError('E_GATE_STRICT', 'x'),
    new SourceError('E_SOURCE_AUTH', 'permanent', 'x'),
    new LeadstreamError('E_USAGE', 'x'),
  ];
  expect(names.map(({ name }) => name)).toEqual(['GateError', 'SourceError', 'LeadstreamError']);
});
