import { LeadstreamError, schema } from '../../core/index.js';
import { anyObject, callback, checkUsage, judgedBy, optionProblems } from '../../options/index.js';
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

const taken = schema((z) =>
  z.strictObject({
    file: z.string().min(1),
    text: z.string().optional(),
    env: judgedBy(environmentProblem).optional(),
    set: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    baseDir: z.string().min(1).optional(),
    stateDir: z.string().min(1).optional(),
    steps: z.array(callback()).optional(),
    sinks: z.array(callback()).optional(),
  }),
);

/**
 * @param at The called function, for messages.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments. Values of the environment are not shown.
 */
export function checkLoading(at: string, given: { readonly file: unknown; readonly text?: unknown }, options: unknown): void {
  checkUsage(at, anyObject, options);
  const [problem] = optionProblems(taken(), { ...(options as object), ...given }, ['env', 'set', 'text']);
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `${at}: ${problem}`);
}
