import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ESLint } from 'eslint';
import { describe, expect, test } from '@jest/globals';
import tseslint from 'typescript-eslint';
import { temporaryFolder } from '../support/temporary.js';

/** Files that are not there have no types, which boundaries do not need. */
const eslint = new ESLint({ overrideConfig: tseslint.configs.disableTypeChecked });

/** What the linter says of a file that would stand at a path of `src`. */
async function messages(path: string, code: string): Promise<readonly string[]> {
  const [result] = await eslint.lintText(`${code}\n`, { filePath: join('src', path) });
  return (result?.messages ?? []).map(({ ruleId, message }) => `${ruleId ?? ''} ${message}`);
}

const refused = expect.arrayContaining([expect.stringContaining('no-restricted-imports')]);

describe('the import table', () => {
  test.each([
    ['collections/x.ts', '../errors.js'],
    ['flow/x.ts', '../client/index.js'],
    ['client/x.ts', '../flow/index.js'],
    ['files/x.ts', '../sinks/index.js'],
    ['service/x.ts', '../client/index.js'],
    ['service/generate/x.ts', '../../flow/index.js'],
    ['steps/join/x.ts', '../../sinks/index.js'],
    ['steps/join/x.ts', '../../client/index.js'],
    ['sinks/csv/x.ts', '../../steps/index.js'],
    ['sinks/x.ts', '../pipeline/index.js'],
    ['pipeline/x.ts', '../service/index.js'],
    ['pipeline/x.ts', '../index.js'],
    ['cli/x.ts', '../pipeline/index.js'],
    ['cli/commands/x.ts', '../../client/index.js'],
    ['pipeline/x.ts', '../client/redact.js'],
    ['steps/cast/x.ts', '../../collections/types.js'],
    ['pipeline/x.ts', 'got'],
  ])('refuses %s the import of %s', async (path, specifier) => {
    expect(await messages(path, `export * from '${specifier}';`)).toEqual(refused);
  });

  test.each([
    ['flow/x.ts', '../collections/index.js'],
    ['sinks/csv/x.ts', '../../files/index.js'],
    ['steps/join/x.ts', '../key.js'],
    ['pipeline/x.ts', '../steps/index.js'],
    ['cli/commands/x.ts', '../../index.js'],
    ['client/x.ts', 'got'],
  ])('grants %s the import of %s', async (path, specifier) => {
    expect(await messages(path, `export * from '${specifier}';`)).toEqual([]);
  });

  test('holds for imports at run time too', async () => {
    for (const { path, code } of await sources()) {
      const imports = [...code.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, specifier = '']) => specifier);
      for (const specifier of imports) expect([path, await messages(path, `export * from '${specifier}';`)]).toEqual([path, []]);
    }
  });
});

describe('waiting', () => {
  test.each(['concatMap', 'mergeMap', 'expand', 'bufferCount', 'toArray', 'shareReplay', 'ReplaySubject', 'zip'])(
    'with %s is refused outside of flow',
    async (operator) => {
      const code = `import { ${operator} } from 'rxjs';\n\nexport const used = ${operator};`;
      expect(await messages('steps/x.ts', code)).toEqual(refused);
      expect(await messages('client/x.ts', code)).toEqual(refused);
      expect(await messages('flow/x.ts', code)).toEqual([]);
    },
  );
});

test('only the command line ends the process', async () => {
  expect(await messages('pipeline/x.ts', 'process.exit(1);')).toEqual([expect.stringContaining('no-restricted-properties')]);
  expect(await messages('cli/x.ts', 'process.exit(1);')).toEqual([]);
});

describe('lost work', () => {
  const rules = ['no-floating-promises', 'no-misused-promises', 'await-thenable', 'return-await', 'switch-exhaustiveness-check'];

  test.each(['src/pipeline/run.ts', 'src/cli/main.ts', 'test/unit/architecture.test.ts', 'examples/first-thousand.ts'])(
    'is looked for in %s',
    async (path) => {
      const { rules: configured }: Config = await new ESLint().calculateConfigForFile(path);
      expect(rules.filter((rule) => configured[`@typescript-eslint/${rule}`]?.[0] !== 2)).toEqual([]);
    },
  );

  test('is found', async () => {
    const [wrong, right] = [await typedFindings(lost), await typedFindings(kept)];
    expect(wrong).toEqual(Object.fromEntries(Object.keys(lost).map((rule) => [rule, [`@typescript-eslint/${rule}`]])));
    expect(right).toEqual(Object.fromEntries(Object.keys(kept).map((rule) => [rule, []])));
  });
});

test('circles between files are refused, also those of types alone', async () => {
  const files = {
    'value-a.ts': "export { b } from './value-b.js';",
    'value-b.ts': "export { a } from './value-a.js';",
    'type-a.ts': "import type { B } from './type-b.js';\nexport type A = B | 1;",
    'type-b.ts': "import type { A } from './type-a.js';\nexport type B = A | 2;",
    'one-way.ts': "export type { A } from './type-a.js';",
  };
  const folder = await temporaryFolder();
  for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code);
  const refusals = (await circlesIn(folder)).filter((line) => line.includes('error no-circular'));
  expect(refusals.sort()).toEqual([expect.stringContaining('type-'), expect.stringContaining('value-')]);
});

test('every folder of src has an index', async () => {
  const folders = (await readdir('src', { withFileTypes: true })).filter((entry) => entry.isDirectory() && entry.name !== 'cli');
  for (const { name } of folders) expect(await readdir(join('src', name))).toContain('index.ts');
});

async function sources(): Promise<readonly { path: string; code: string }[]> {
  const names = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts'));
  return Promise.all(names.map(async (path) => ({ path, code: await readFile(join('src', path), 'utf8') })));
}

interface Config {
  readonly rules: Readonly<Record<string, readonly unknown[]>>;
}

/** By rule, what it has to find; `g` is a function that gives a promise. */
const lost = {
  'no-floating-promises': 'export function f() { g(); }',
  'no-misused-promises': 'export function f() { [1].forEach(async () => { await g(); }); }',
  'await-thenable': 'export async function f() { await 1; }',
  'return-await': 'export async function f() { try { return g(); } catch { return undefined; } }',
  'switch-exhaustiveness-check': "export function f(it: 'a' | 'b') { switch (it) { case 'a': return g(); } }",
  'no-base-to-string': 'export const text = String({});',
  'no-unsafe-return': "export function f(): string { return JSON.parse(''); }",
};

/** The same as it should be. */
const kept: typeof lost = {
  'no-floating-promises': 'export async function f() { await g(); }',
  'no-misused-promises': 'export async function f() { await Promise.all([1].map(async () => { await g(); })); }',
  'await-thenable': 'export async function f() { await g(); }',
  'return-await': 'export async function f() { try { return await g(); } catch { return undefined; } }',
  'switch-exhaustiveness-check': "export function f(it: 'a' | 'b') { switch (it) { case 'a': return g(); case 'b': return 1; } }",
  'no-base-to-string': 'export const text = JSON.stringify({});',
  'no-unsafe-return': "export function f(): unknown { return JSON.parse(''); }",
};

/** The rules that find something, by name of the file of `src`, in a project of its own: that of the repository takes seconds to load. */
async function typedFindings(files: Readonly<Record<string, string>>): Promise<Readonly<Record<string, readonly (string | null)[]>>> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "strict": true, "lib": ["es2023"], "types": [] } }');
  for (const [name, code] of Object.entries(files)) {
    await writeFile(join(folder, 'src', `${name}.ts`), `export async function g(): Promise<void> {}\n${code}\n`);
  }
  const linter = new ESLint({
    cwd: folder,
    overrideConfigFile: resolve('eslint.config.js'),
    overrideConfig: { languageOptions: { parserOptions: { tsconfigRootDir: folder } } },
  });
  const results = await linter.lintFiles('src');
  return Object.fromEntries(results.map(({ filePath, messages }) => [basename(filePath, '.ts'), messages.map(({ ruleId }) => ruleId)]));
}

/** What the check of `npm run cycles` says of a folder, by lines. */
function circlesIn(folder: string): Promise<readonly string[]> {
  const program = join('node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  return new Promise((resolve) => {
    execFile(process.execPath, [program, '--config', 'dependency-cruiser.config.js', folder], (_status, output) =>
      resolve(output.split('\n')),
    );
  });
}
