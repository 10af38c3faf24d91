import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { start } from '../support/cli.js';
import { temporaryFolder } from '../support/temporary.js';

/** A program of somebody who installed the package: TypeScript writes declarations of all that it exports. */
async function project(): Promise<string> {
  const folder = await temporaryFolder();
  const [here, modules] = [process.cwd(), join(folder, 'node_modules')];
  await mkdir(join(modules, 'leadstream'), { recursive: true });
  await cp(join(here, 'dist'), join(modules, 'leadstream', 'dist'), { recursive: true });
  await cp(join(here, 'package.json'), join(modules, 'leadstream', 'package.json'));
  await symlink(join(here, 'node_modules'), join(modules, 'leadstream', 'node_modules'));
  for (const name of ['rxjs', '@types']) await symlink(join(here, 'node_modules', name), join(modules, name));
  await cp(join(here, 'test/support/exporting-program.ts'), join(folder, 'program.ts'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const options = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    declaration: true,
    skipLibCheck: true,
    types: ['node'],
    outDir: 'out',
  };
  const compilerOptions = { ...options, lib: ['es2023', 'esnext.disposable'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  return folder;
}

test('a program that exports streams gets declarations, which name nothing but the package', async () => {
  const folder = await project();
  const compiler = join(process.cwd(), 'node_modules', '.bin', 'tsc');
  expect(await start(compiler, ['-p', folder], { cwd: folder }).finished).toMatchObject({ code: 0, stdout: '' });
  const declared = await readFile(join(folder, 'out', 'program.d.ts'), 'utf8');
  const imported = [...declared.matchAll(/import\("([^"]+)"\)/g)].map(([, name]) => name);
  expect(new Set(imported)).toEqual(new Set(['leadstream']));
  expect(declared).not.toMatch(/\bany\b/);
});
