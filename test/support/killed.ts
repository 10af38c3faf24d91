import { fileURLToPath } from 'node:url';
import { startCli } from './cli.js';

const preload = new URL('./killed-preload.mjs', import.meta.url);

/**
 * Runs the built command in a process that ends as by `kill -9` right before one of the renames that publish its output.
 *
 * @param nth Number of the rename, from 1.
 * @returns `false` if there are fewer, so that the command completed.
 * @throws If the command failed.
 */
export async function killedBefore(
  nth: number,
  parameters: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<boolean> {
  const NODE_OPTIONS = `--import ${fileURLToPath(preload)}`;
  const { process: child, finished } = startCli(parameters, { cwd, env: { ...env, NODE_OPTIONS, KILL_BEFORE: String(nth) } });
  const { code, stderr } = await finished;
  if (child.signalCode === 'SIGKILL') return true;
  if (code !== 0) throw new Error(stderr);
  return false;
}
