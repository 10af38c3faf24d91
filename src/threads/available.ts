import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Returns the file of a thread's module, next to the calling code; `undefined` if it is missing, as in a bundle without it and next to TypeScript source, or if
 * this process may not start threads (`node --permission` without `--allow-worker`).
 *
 * @param file Returns where it would be; in a CommonJS bundle this is unknown.
 */
export function threadFile(file: () => URL): URL | undefined {
  const { permission }: Permitted = process;
  if (permission?.has('worker') === false) return undefined;
  try {
    const url = file();
    return existsSync(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

interface Permitted {
  /** Only under the permission model of Node. */
  readonly permission?: { has(scope: string): boolean };
}

/** Returns the default number of threads in addition to the main one: none on a machine with one core, and none if they are unavailable. */
export function defaultThreads(file: URL | undefined): 0 | 1 {
  return file !== undefined && availableParallelism() > 1 ? 1 : 0;
}

/**
 * Warns, once per name, that work runs in this thread because the requested one is unavailable.
 *
 * @param name Name of the module, which a bundle must include.
 */
export function warnOfNoThread(name: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  const message = `threads: 1 needs the file ${name} next to the code, so a bundle must include it, and node --permission needs --allow-worker; without them, everything runs in this thread`;
  process.emitWarning(message, { type: 'LeadstreamThreadWarning', code: 'W_THREADS' });
}

const warned = new Set<string>();
