import { basename, dirname, join, resolve, sep } from 'node:path';

/** Returns the folder `.<name>.runs` next to an output, which contains the runs of a table. */
export function runsOf(output: string): string {
  return join(dirname(output), `.${basename(output)}.runs`);
}

/** Returns whether a path lies below a folder, judging by its normalized text alone. */
export function isWithin(path: string, folder: string): boolean {
  return resolve(path) === path && path.startsWith(folder + sep);
}

/** Returns whether a path is that of a partial file next to an output, `.<name>.<run>.partial`. */
export function isPartialOf(path: string, output: string): boolean {
  const head = join(dirname(output), `.${basename(output)}.`);
  return path.startsWith(head) && /^[\w-]+\.partial$/.test(path.slice(head.length));
}
