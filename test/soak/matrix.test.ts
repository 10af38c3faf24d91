import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { start, type Finished } from '../support/cli.js';
import { installed } from '../support/installed.js';
import { temporaryFolder } from '../support/temporary.js';

const own = (name: string) => join(process.cwd(), 'node_modules', '.bin', name);
const program = join('test', 'support', 'whole-program.ts');

/** What `program` prints: rows read, in a CSV file and in a table, and whether a pipeline file was run. */
const done = { code: 0, stdout: '70 70 70 true\n', stderr: '' };

/** What npm tells, and Node 22.12 of every `require` of a module. */
const notOurs =
  /^(?:npm (?:warn|notice)|.*ExperimentalWarning: CommonJS module|Support for loading ES Module in require|\(Use `node --trace-warnings).*\n/gm;

let folder = '';
let tarball = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-'));
  tarball = await installed(folder);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await copyFile(program, join(folder, 'program.ts'));
  await copyFile(program, join(folder, 'required.cts'));
  await writeFile(join(folder, 'main.mjs'), "import { main } from './out/program.js';\nawait main();\n");
  await writeFile(join(folder, 'main.cjs'), "require('./out/required.cjs').main();\n");
  await writeFile(join(folder, 'late.cjs'), "import('leadstream').then(({ connect }) => console.log(typeof connect));\n");
});
afterAll(() => rm(folder, { recursive: true }));

type Command = readonly [tool: string, ...parameters: string[]];

const compilers: readonly (readonly [name: string, command: Command])[] = [
  ['TypeScript 5.7, the oldest', ['npx', '--yes', '--package', 'typescript@5.7', '--', 'tsc']],
  ['TypeScript 5.9', ['npx', '--yes', '--package', 'typescript@5.9', '--', 'tsc']],
  ['TypeScript of this repository', [own('tsc')]],
];

async function compile(compiler: Command, file: string, options: readonly string[]): Promise<Finished> {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck', 'false', '--types', 'node'];
  const [tool, ...parameters] = compiler;
  return start(tool, [...parameters, '--target', 'es2022', ...strict, ...options, file], { cwd: folder }).finished;
}

const modules = [
  ['nodenext', 'nodenext'],
  ['node16', 'node16'],
  ['esnext', 'bundler'],
] as const;

/** A compiler between the oldest and the one of this repository is asked once. */
describe.each(compilers)('%s', (name, compiler) => {
  test.each(name === 'TypeScript 5.9' ? modules.slice(0, 1) : modules)(
    'takes the declarations with module %s and moduleResolution %s, and checks them as well',
    async (module, resolution) => {
      const options = ['--module', module, '--moduleResolution', resolution, '--noEmit'];
      expect(await compile(compiler, 'program.ts', options)).toMatchObject({ code: 0, stdout: '' });
    },
  );
});

/** Without what npm brings here, the report shows a skipped test that names it. */
function testBy(name: string, [tool, ...parameters]: Command, title: string, body: () => Promise<void>): void {
  const { status } = spawnSync(tool, [...parameters.filter((each) => each !== 'run' && !each.startsWith('--allow')), '--version']);
  if (status === 0) test(`${name} ${title}`, body);
  else test.skip(`${name} ${title}: npm does not bring it here`, body);
}

const runtimes: readonly (readonly [name: string, command: Command])[] = [
  ['Node 20.19', ['npx', '--yes', '--package', 'node@20.19.0', '--', 'node']],
  ['Node 22.12', ['npx', '--yes', '--package', 'node@22.12.0', '--', 'node']],
  ['Node 24', ['npx', '--yes', '--package', 'node@24', '--', 'node']],
  ['Bun', ['npx', '--yes', 'bun@1']],
  ['Deno', ['npx', '--yes', 'deno@2', 'run', '--allow-all']],
];

describe('what TypeScript makes of a program is run by', () => {
  beforeAll(async () => {
    const options = ['--module', 'nodenext', '--outDir', 'out'];
    expect(await compile([own('tsc')], 'program.ts', options)).toMatchObject({ code: 0, stdout: '' });
    expect(await compile([own('tsc')], 'required.cts', options)).toMatchObject({ code: 0, stdout: '' });
  });

  for (const [name, command] of runtimes) {
    const run = async (file: string) => {
      const [tool, ...parameters] = command;
      const finished = await start(tool, [...parameters, join(folder, file)], { cwd: await temporaryFolder() }).finished;
      return { ...finished, stderr: finished.stderr.replaceAll(notOurs, '') };
    };
    testBy(name, command, 'as a module', async () => expect(await run('main.mjs')).toEqual(done));
    testBy(name, command, 'as CommonJS, by require', async () => expect(await run('main.cjs')).toEqual(done));
    testBy(name, command, 'as CommonJS, by import()', async () => expect(await run('late.cjs')).toEqual({ ...done, stdout: 'function\n' }));
  }
});

test('publint finds nothing in the packed file', async () => {
  const packed = await readFile(tarball);
  const { messages } = await publint({ pack: { tarball: packed.buffer }, strict: true });
  expect(messages).toEqual([]);
});

test('the types are those of the code, for every resolver that Node 20 and later need', async () => {
  const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(await readFile(tarball))));
  if (checked.types === false) throw new Error('the package has no types');
  const found = checked.problems.map((problem) => `${problem.kind} ${'resolutionKind' in problem ? problem.resolutionKind : ''}`);
  const meant = [
    // The package is a module alone: Node requires it since 20.19, and TypeScript does with nodenext.
    'CJSResolvesToESM node16-cjs',
    // The resolution of Node 10 knows no subpaths of a package.
    'NoResolution node10',
  ];
  expect([...new Set(found)].toSorted()).toEqual(meant);
});
