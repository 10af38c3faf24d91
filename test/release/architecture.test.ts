import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { temporaryFolder } from '../support/temporary.js';

/** What the linter says of files, by path: the rules that find something, in their order. */
type Findings = ReadonlyMap<string, readonly string[]>;

const refused = 'eslint(no-restricted-imports)';

describe('the import table', () => {
  const wrong = [
    ['core/x.ts', '../options/index.js'],
    ['flow/x.ts', '../source/index.js'],
    ['http/x.ts', '../flow/index.js'],
    ['store/x.ts', '../sinks/index.js'],
    ['service/generate/x.ts', '../../flow/index.js'],
    ['steps/join/x.ts', '../../sinks/index.js'],
    ['sinks/x.ts', '../plan/index.js'],
    ['cli/commands/x.ts', '../../flow/index.js'],
    ['plan/x.ts', '../http/retry.js'],
    ['plan/x.ts', '../run/index.js'],
    ['source/x.ts', 'got'],
  ] as const;
  const right = [
    ['flow/x.ts', '../core/index.js'],
    ['steps/join/x.ts', '../key.js'],
    ['run/x.ts', '../plan/index.js'],
    ['http/x.ts', 'got'],
  ] as const;
  const imports = (cases: typeof wrong | typeof right) =>
    cases.map(([path, specifier]) => [placed(path, specifier), `export * from '${specifier}';`] as const);

  test('refuses what it does not list, and nothing else', async () => {
    const found = await findings([...imports(wrong), ...imports(right)]);
    const places = [...found].filter(([, rules]) => rules.includes(refused)).map(([path]) => path);
    expect(places).toEqual(imports(wrong).map(([path]) => path));
  });

  test('holds for imports at run time too', async () => {
    const found = (await sources()).flatMap(({ path, code }) =>
      [...code.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(
        ([, specifier = '']) => [placed(path, specifier), `export * from '${specifier}';`] as const,
      ),
    );
    expect(found.length).toBeGreaterThan(10);
    expect([...(await findings(found))].filter(([, rules]) => rules.length > 0)).toEqual([]);
  });

  /** A file of its own for each import, in the folder of the path. */
  function placed(path: string, specifier: string): string {
    return join('src', dirname(path), `${path}-${specifier}`.replace(/\W+/g, '-')) + '.ts';
  }
});

test('waiting outside of flow is refused', async () => {
  const operators = ['concatMap', 'expand', 'toArray', 'ReplaySubject'];
  const files = operators.flatMap((operator) =>
    ['steps', 'http', 'flow'].map(
      (folder) => [`src/${folder}/${operator}.ts`, `import { ${operator} } from 'rxjs';\n\nexport const used = ${operator};`] as const,
    ),
  );
  const refusals = [...(await findings(files))].filter(([, rules]) => rules.includes(refused));
  expect(refusals.map(([path]) => path)).toEqual(files.map(([path]) => path).filter((path) => !path.startsWith('src/flow/')));
});

test('only the command line ends the process', async () => {
  const found = await findings(['run', 'cli', 'cli/commands'].map((folder) => [`src/${folder}/x.ts`, 'process.exit(1);']));
  expect([...found.values()]).toEqual([['eslint(no-restricted-properties)'], [], []]);
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
