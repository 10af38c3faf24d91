import type { Environment } from './reference-source.js';

/** What a pipeline file is read with. */
export interface LoadOptions {
  /** Default `process.env`. */
  readonly env?: Environment;
  /** Values that take the place of the file's, for example `{ 'service.limit': '100' }`. Not under `service.auth`. */
  readonly set?: Readonly<Record<string, string>>;
  /** Folder that the path of the pipeline file resolves against. Default: the working directory. */
  readonly cwd?: string;
  /** Folder that relative paths in the file resolve against. Default: `cwd`. */
  readonly baseDir?: string;
  /** State folder of the runs, in which no output may be; relative to `baseDir`. Default: the run looks for itself. */
  readonly stateDir?: string;
}
