import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/temporary.js';

/** What the linter says of files, by path: the rules that find something, in their order. */
type Findings = ReadonlyMap<string, readonly string[]>;

const refused = ['eslint(no-restricted-imports)'];

describe('the import table', () => {
  const wrong = [
    ['core/x.ts', '../options/index.js'],
    ['collections/x.ts', '../vector/index.js'],
    ['flow/x.ts', '../source/index.js'],
    ['events/x.ts', '../flow/index.js'],
    ['sinks/csv/x.ts', '../../events/index.js'],
    ['http/x.ts', '../flow/index.js'],
    ['http/x.ts', '../source/index.js'],
    ['store/x.ts', '../sinks/index.js'],
    ['parquet/x.ts', '../store/index.js'],
    ['parquet/engines/x.ts', '../../lake/index.js'],
    ['lake/x.ts', '../sinks/index.js'],
    ['service/x.ts', '../source/index.js'],
    ['service/generate/x.ts', '../../flow/index.js'],
    ['steps/join/x.ts', '../../sinks/index.js'],
    ['steps/join/x.ts', '../../source/index.js'],
    ['sinks/csv/x.ts', '../../steps/index.js'],
    ['sinks/x.ts', '../pipeline/index.js'],
    ['source/x.ts', '../pipeline/index.js'],
    ['pipeline/run/x.ts', '../../pipeline-tests/index.js'],
    ['pipeline/ops/x.ts', '../../index.js'],
    ['doctor/x.ts', '../pipeline/index.js'],
    ['pipeline/ops/x.ts', '../../doctor/index.js'],
    ['cli/x.ts', '../pipeline/index.js'],
    ['cli/commands/x.ts', '../../flow/index.js'],
    ['pipeline/spec/x.ts', '../../http/retry.js'],
    ['steps/cast/x.ts', '../../core/types.js'],
    ['source/x.ts', 'got'],
  ] as const;
  const right = [
    ['flow/x.ts', '../core/index.js'],
    ['source/spool/x.ts', '../../store/index.js'],
    ['lake/x.ts', '../parquet/index.js'],
    ['sinks/csv/x.ts', '../../store/index.js'],
    ['steps/join/x.ts', '../key.js'],
    ['pipeline/spec/x.ts', '../../steps/index.js'],
    ['cli/commands/x.ts', '../../index.js'],
    ['http/x.ts', '../events/index.js'],
    ['http/x.ts', 'got'],
  ] as const;
  const cases = [...wrong, ...right];
  let found: Findings;

  beforeAll(async () => {
    found = await findings(cases.map(([path, specifier]) => [placed(path, specifier), `export * from '${specifier}';`]));
  });

  test.each(wrong)('refuses %s the import of %s', (path, specifier) => {
    expect(found.get(placed(path, specifier))).toEqual(expect.arrayContaining(refused));
  });

  test.each(right)('grants %s the import of %s', (path, specifier) => {
    expect(found.get(placed(path, specifier))).toEqual([]);
  });

  test('holds for imports at run time too', async () => {
    const imports = (await sources()).flatMap(({ path, code }) =>
      [...code.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(
        ([, specifier = '']) => [placed(path, specifier), `export * from '${specifier}';`] as const,
      ),
    );
    expect(imports.length).toBeGreaterThan(10);
    expect([...(await findings(imports))].filter(([, rules]) => rules.length > 0)).toEqual([]);
  });

  /** A file of its own for each import, in the folder of the path. */
  function placed(path: string, specifier: string): string {
    return join('src', dirname(path), `${path}-${specifier}`.replace(/\W+/g, '-')) + '.ts';
  }
});

test('waiting outside of flow is refused', async () => {
  const operators = ['concatMap', 'mergeMap', 'expand', 'bufferCount', 'toArray', 'shareReplay', 'ReplaySubject', 'zip'];
  const files = operators.flatMap((operator) =>
    ['steps', 'http', 'flow'].map(
      (folder) => [`src/${folder}/${operator}.ts`, `import { ${operator} } from 'rxjs';\n\nexport const used = ${operator};`] as const,
    ),
  );
  const refusals = [...(await findings(files))].filter(([, rules]) => refused.every((rule) => rules.includes(rule)));
  expect(refusals.map(([path]) => path)).toEqual(files.map(([path]) => path).filter((path) => !path.startsWith('src/flow/')));
});

test('only the command line ends the process', async () => {
  const found = await findings(['pipeline', 'cli', 'cli/commands'].map((folder) => [`src/${folder}/x.ts`, 'process.exit(1);']));
  expect([...found.values()]).toEqual([['eslint(no-restricted-properties)'], [], []]);
});

describe('lost work', () => {
  /** By rule, what it has to find; `g` is a function that gives a promise. */
  const lost = {
    'typescript(no-floating-promises)': 'export function f() { g(); }',
    'typescript(no-misused-promises)': 'export function f() { [1].forEach(async () => { await g(); }); }',
    'typescript(await-thenable)': 'export async function f() { await 1; }',
    'typescript(return-await)': 'export async function f() { try { return g(); } catch { return undefined; } }',
    'typescript(switch-exhaustiveness-check)': "export function f(it: 'a' | 'b') { switch (it) { case 'a': return g(); } }",
    'typescript(no-base-to-string)': 'export const text = String({});',
  };
  /** The same as it should be. */
  const kept = [
    'export async function f() { await g(); }',
    'export async function f() { await Promise.all([1].map(async () => { await g(); })); }',
    'export async function f() { try { return await g(); } catch { return undefined; } }',
    "export function f(it: 'a' | 'b') { switch (it) { case 'a': return g(); case 'b': return 1; } }",
    'export const text = JSON.stringify({});',
  ];

  const folders = ['src/pipeline', 'src/cli', 'test/unit', 'examples'];
  const inFolders = (codes: readonly string[], name: string) =>
    folders.flatMap((folder) =>
      codes.map((code, at) => [`${folder}/${name}-${at}.ts`, `export async function g(): Promise<void> {}\n${code}\n`] as const),
    );
  let found: Findings;

  // One run of the linter for all of them: it takes a second or two to know the types.
  beforeAll(async () => {
    found = await findings([...inFolders(Object.values(lost), 'wrong'), ...inFolders(kept, 'right')]);
  });

  test.each(folders)('is found in %s', (folder) => {
    const rulesOf = (name: string) => [...found].flatMap(([path, rules]) => (path.startsWith(`${folder}/${name}-`) ? [rules] : []));
    expect(rulesOf('wrong')).toEqual(Object.keys(lost).map((rule) => [rule]));
    expect(rulesOf('right')).toEqual(kept.map(() => []));
  });

  test('is also an `any` that leaves its line, in src', async () => {
    const code = "export function f(): string { return JSON.parse(''); }";
    const leaks = await findings([
      ['src/x.ts', code],
      ['test/x.ts', code],
    ]);
    expect([...leaks.values()]).toEqual([['typescript(no-unsafe-return)'], []]);
  });
});

test('circles between files are refused, also those of types alone', async () => {
  const found = await findings([
    ['src/value-a.ts', "export { b } from './value-b.js';\nexport const a = 1;"],
    ['src/value-b.ts', "export { a } from './value-a.js';\nexport const b = 1;"],
    ['src/type-a.ts', "import type { B } from './type-b.js';\nexport interface A { readonly b?: B }"],
    ['src/type-b.ts', "import type { A } from './type-a.js';\nexport interface B { readonly a?: A }"],
    ['src/one-way.ts', "import type { A } from './type-a.js';\nexport type C = A;"],
  ]);
  const circle = ['import(no-cycle)'];
  expect([...found.values()]).toEqual([circle, circle, circle, circle, []]);
});

test('every folder of src has an index', async () => {
  const folders = (await readdir('src', { withFileTypes: true })).filter((entry) => entry.isDirectory() && entry.name !== 'cli');
  for (const { name } of folders) expect(await readdir(join('src', name))).toContain('index.ts');
});

async function sources(): Promise<readonly { path: string; code: string }[]> {
  const names = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts'));
  return Promise.all(names.map(async (path) => ({ path, code: await readFile(join('src', path), 'utf8') })));
}

/** Runs the linter with the configuration of the repository over files in a folder of their own. */
async function findings(files: Iterable<readonly [path: string, code: string]>): Promise<Findings> {
  const folder = await temporaryFolder();
  const found = new Map<string, string[]>();
  for (const name of ['oxlint.config.js', 'package.json', 'tsconfig.json']) await copyFile(name, join(folder, name));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  for (const [path, code] of files) {
    found.set(path, []);
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), `${code}\n`);
  }
  for (const { filename, code } of await diagnosticsIn(folder)) found.get(filename)?.push(code);
  return found;
}

interface Diagnostic {
  readonly filename: string;
  /** The rule, as in `typescript(await-thenable)`. */
  readonly code: string;
}

function diagnosticsIn(folder: string): Promise<readonly Diagnostic[]> {
  const program = resolve('node_modules', 'oxlint', 'bin', 'oxlint');
  return new Promise((settle, refuse) => {
    execFile(
      process.execPath,
      [program, '-c', 'oxlint.config.js', '-f', 'json', '--ignore-pattern', 'node_modules'],
      { cwd: folder },
      (_status, output, problems) => {
        try {
          const { diagnostics } = JSON.parse(output) as { diagnostics: readonly Diagnostic[] };
          settle(diagnostics);
        } catch {
          refuse(new Error(`${output}${problems}`.slice(0, 2_000)));
        }
      },
    );
  });
}
