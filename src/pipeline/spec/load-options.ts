import { anyObject, callable, check, checkUsage, filledText, judged, listOf, object, text } from '../../options/index.js';
import type { Extensions } from './definitions.js';
import { environmentProblem, type Environment } from './reference-source.js';

/** The options for loading a pipeline file. */
export interface LoadOptions extends Extensions {
  /** Default `process.env`. */
  readonly env?: Environment;
  /** Values that replace those of the file, for example `{ 'service.limit': '100' }`. Not under `service.auth`. */
  readonly set?: Readonly<Record<string, string>>;
  /** Folder that the path of the pipeline file resolves against. Default: the working directory. */
  readonly cwd?: string;
  /** Folder that relative paths in the file resolve against. Default: `cwd`. */
  readonly baseDir?: string;
  /** State folder of the runs, which must not contain any output; relative to `baseDir`. Default: checked by the run. */
  readonly stateDir?: string;
}

const taken = object(
  {
    ...{ file: filledText, text, env: judged(environmentProblem), set: check('an object of texts', isTexts) },
    ...{ cwd: filledText, baseDir: filledText, stateDir: filledText, steps: listOf(callable), sinks: listOf(callable) },
  },
  ['file'],
);

function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string');
}

/**
 * @param at The called function, for messages.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments.
 */
export function checkLoading(at: string, given: { readonly file: unknown; readonly text?: unknown }, options: unknown): void {
  checkUsage(at, anyObject, options);
  checkUsage(at, taken, { ...(options as object), ...given });
}
