import { basename, dirname, join, resolve, sep } from 'node:path';

/** The folder beside an output, `.<name>.runs`, in which the runs of a table are. */
export function runsOf(output: string): string {
  return join(dirname(output), `.${basename(output)}.runs`);
}

/** Whether a path lies below a folder, and says so by its words alone. */
export function isWithin(path: string, folder: string): boolean {
  return resolve(path) === path && path.startsWith(folder + sep);
}

/** Whether a path is that of a partial file beside an output, `.<name>.<run>.partial`. */
export function isPartialOf(path: string, output: string): boolean {
  const head = join(dirname(output), `.${basename(output)}.`);
  return path.startsWith(head) && /^[\w-]+\.partial$/.test(path.slice(head.length));
}
