import { SinkError, zod } from '../core/index.js';
import { filledPath, pathProblem, storeOf, tableProblem } from '../store/index.js';
import type { OutputPlace, SinkContext } from './sink.js';

/** Creates the option for the path of an output, in any store. */
export const outputPath = (what: string) => pathKey(what, pathProblem);

/** Creates the option for the path of a table, which is on this machine. */
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
 * Returns the absolute path of an output.
 *
 * @throws {SinkError} `E_SINK_CONFIG` if the value of a name in braces could lead out of the path.
 */
export function outputAt(path: string, { baseDir, names }: OutputPlace): string {
  const filled = filledPath(path, names);
  // Based on the path as written: the name of a pipeline is not a scheme.
  if (filled !== undefined) return storeOf([path]).resolve(filled, baseDir);
  throw new SinkError('E_SINK_CONFIG', `${path}: a name in a path may contain only letters, digits, dots, dashes and underscores`);
}

/** Returns the absolute path of an output for a sink that is being opened. */
export function outputIn(path: string, { baseDir, pipeline, runId, runDate }: SinkContext): string {
  return outputAt(path, { baseDir, names: { pipeline, 'run.id': runId, 'run.date': runDate() } });
}
