import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue } from '../../src/core/catalogue.js';
import { start, type Started } from './cli.js';
import { installed } from './installed.js';
import { temporaryFolder } from './temporary.js';

/** Exit codes that no repetition changes; a scheduler must leave the others (69, 75, signals) worth another try. 76 is of `doctor`. */
export const finalCodes = [...new Set(Object.values(catalogue).map(({ exit }) => exit))]
  .filter((exit) => ![69, 75, 76, 130].includes(exit))
  .sort((a, b) => a - b);

let project: Promise<string> | undefined;
afterAll(async () => {
  if (project) await rm(await project, { recursive: true });
});

/**
 * Starts an example as a user does who copied it into a new project, as `npm init -y` makes it, with the packed package. Signals reach its process directly:
 * `npx tsx` would start another one.
 */
export async function startExample(name: string, env: Readonly<Record<string, string>>): Promise<Started> {
  const cwd = await (project ??= newProject());
  await copyFile(join('examples', name), join(cwd, name));
  return start(process.execPath, ['--import', 'tsx', name], { cwd, env: { ...env, TMPDIR: await temporaryFolder() } });
}

async function newProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-'));
  await installed(folder);
  await writeFile(join(folder, 'package.json'), '{ "name": "new", "version": "1.0.0", "type": "commonjs" }');
  return folder;
}
