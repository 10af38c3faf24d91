import { fileURLToPath } from 'node:url';
import { startCli } from './cli.js';

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A folder whose changes are counted, in the place of the renames of a commit. */
  readonly below?: string;
}

/**
 * Runs the built command in a process that ends as by `kill -9` right before one of the renames that publish its output, or of the changes
 * below a folder.
 *
 * @param nth Number of the rename or change, from 1.
 * @returns `false` if there are fewer, so that the command completed.
 * @throws If the command failed.
 */
export async function killedBefore(nth: number, parameters: readonly string[], { cwd, env, below }: Place): Promise<boolean> {
  const preload = new URL(below === undefined ? './killed-preload.mjs' : './killed-in-folder.mjs', import.meta.url);
  const killing = { NODE_OPTIONS: `--import ${fileURLToPath(preload)}`, KILL_BEFORE: String(nth), KILL_IN: below ?? '' };
  const { process: child, finished } = startCli(parameters, { cwd, env: { ...env, ...killing } });
  const { code, stderr } = await finished;
  if (child.signalCode === 'SIGKILL') return true;
  if (code !== 0) throw new Error(`change ${nth}: ${stderr}`);
  return false;
}
