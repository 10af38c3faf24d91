import { SinkError, zod } from '../core/index.js';
import { filledPath, pathProblem, storeOf, tableProblem } from '../store/index.js';
import type { OutputPlace, SinkContext } from './sink.js';

/** The key for the path of an output, in any store. */
export const outputPath = (what: string) => pathKey(what, pathProblem);

/** The key for the path of a table, which is on this machine. */
export const tablePath = (what: string) => pathKey(what, tableProblem);

const pathKey = (what: string, problemOf: (path: string) => string | undefined) =>
  zod()
    .string()
    .min(1)
    .superRefine((path, context) => {
      const message = problemOf(path);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .describe(
      `${what} Relative paths resolve against the working directory; {{ run.date }}, {{ run.id }} and {{ pipeline }} stand for the UTC day on which the run was first started, its id, and the name of the pipeline.`,
    );

/**
 * The absolute path of an output.
 *
 * @throws {SinkError} `E_SINK_CONFIG` for a name in braces that could climb out of the path.
 */
export function outputAt(path: string, { baseDir, names }: OutputPlace): string {
  const filled = filledPath(path, names);
  // Of the path as it is written: the name of a pipeline is no scheme.
  if (filled !== undefined) return storeOf([path]).resolve(filled, baseDir);
  throw new SinkError('E_SINK_CONFIG', `${path}: a name in a path is made of letters, digits, dots, dashes and underscores`);
}

/** The same for a sink that is opened. */
export function outputIn(path: string, { baseDir, pipeline, runId, runDate }: SinkContext): string {
  return outputAt(path, { baseDir, names: { pipeline, 'run.id': runId, 'run.date': runDate() } });
}
