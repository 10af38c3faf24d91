import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * The file of a thread's module, beside the code that asks; `undefined` where there is none, as in a bundle that did not bring it along, and
 * beside TypeScript source.
 *
 * @param file Says where it would be; in a bundle of CommonJS nobody knows.
 */
export function threadFile(file: () => URL): URL | undefined {
  try {
    const url = file();
    return existsSync(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** How many threads there are beside the main one unless told otherwise: none on a machine with one core, and none without their file. */
export function defaultThreads(file: URL | undefined): 0 | 1 {
  return file !== undefined && availableParallelism() > 1 ? 1 : 0;
}

/**
 * Tells, once for each name, that work goes on in this thread where another one was asked for, and cannot be there.
 *
 * @param name Of the module, which a bundle has to bring along.
 */
export function warnOfNoThread(name: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  const message = `threads: 1 needs the file ${name} beside the code, which a bundle has to bring along; without it everything happens in this thread`;
  process.emitWarning(message, { type: 'LeadstreamThreadWarning', code: 'W_THREADS' });
}

const warned = new Set<string>();
