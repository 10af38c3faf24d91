import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Action } from '../action.js';

/** The folder beside an output, `.<name>.runs`, in which the runs of a table are. */
function runsOf(output: string): string {
  return join(dirname(output), `.${basename(output)}.runs`);
}

/**
 * The output that an action belongs to; `undefined` when there is none. What an action can do:
 *
 * - A partial file beside an output, `.<name>.<run>.partial`, becomes the output; then there is a SHA-256.
 * - Something below the runs of an output, `.<name>.runs`, becomes something else there.
 * - A link below the runs of an output to a folder right there becomes the output.
 *
 * @param outputs Absolute paths.
 */
export function outputOf(outputs: readonly string[], action: Action): string | undefined {
  return outputs.find((output) => belongsTo(output, action));
}

function belongsTo(output: string, action: Action): boolean {
  const runs = runsOf(output);
  switch (action.action) {
    case 'rename': {
      const { from, to, file } = action;
      if (isWithin(from, runs)) return isWithin(to, runs);
      return to === output && file?.sha256 !== undefined && isPartialOf(from, output);
    }
    case 'link': {
      const { at, to, draft } = action;
      return at === output && isWithin(draft, runs) && dirname(to) === basename(runs) && /^[\w-]+$/.test(basename(to));
    }
  }
}

/** Whether a path lies below a folder, and says so by its words alone. */
function isWithin(path: string, folder: string): boolean {
  return resolve(path) === path && path.startsWith(folder + sep);
}

function isPartialOf(path: string, output: string): boolean {
  const head = join(dirname(output), `.${basename(output)}.`);
  return path.startsWith(head) && /^[\w-]+\.partial$/.test(path.slice(head.length));
}
