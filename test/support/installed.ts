import { mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { start } from './cli.js';

/**
 * Sets up a folder as a project with this package as packed by `npm pack`; its dependencies are those of this checkout.
 *
 * @returns The packed file.
 */
export async function installed(folder: string): Promise<string> {
  const modules = join(folder, 'node_modules');
  const own = join(process.cwd(), 'node_modules');
  await mkdir(modules);
  for (const name of await namesIn(own)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(own, name), join(modules, name));
  }
  const packing = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout } = await start('npm', packing, { cwd: process.cwd() }).finished;
  const { code, stderr } = await start('tar', ['-xzf', join(folder, stdout.trim()), '-C', folder], { cwd: folder }).finished;
  if (code !== 0) throw new Error(`the package could not be unpacked: ${stderr}`);
  await rename(join(folder, 'package'), join(modules, 'leadstream'));
  return join(folder, stdout.trim());
}

async function namesIn(modules: string): Promise<readonly string[]> {
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.') && name !== 'leadstream');
  const each = names.map(async (name) =>
    name.startsWith('@') ? (await readdir(join(modules, name))).map((inner) => `${name}/${inner}`) : [name],
  );
  return (await Promise.all(each)).flat();
}
