import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * How many threads there are beside the main one unless told otherwise: none on a machine with one core, and none where the file of
 * their module is missing, as in a bundle that did not bring it along, and beside TypeScript source.
 */
export function defaultThreads(file: URL): 0 | 1 {
  return availableParallelism() > 1 && existsSync(file) ? 1 : 0;
}

/** Why a thread that was asked for cannot be there; `undefined` when it can. */
export function threadProblem(file: URL): string | undefined {
  if (existsSync(file)) return undefined;
  return `threads: 1 needs the file ${fileURLToPath(file)}, which a bundle has to bring along; without it use threads: 0`;
}
