import { execFile } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ESLint } from 'eslint';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/temporary.js';

const eslint = new ESLint();

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

/** What the check of `npm run cycles` says of a folder, by lines. */
function circlesIn(folder: string): Promise<readonly string[]> {
  const program = join('node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  return new Promise((resolve) => {
    execFile(process.execPath, [program, '--config', 'dependency-cruiser.config.js', folder], (_status, output) =>
      resolve(output.split('\n')),
    );
  });
}
