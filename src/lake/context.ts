import type { Warning } from '../core/index.js';
import type { RunLog } from './run-log.js';

/** The context of a run of a table. */
export interface TableRunContext {
  /** Name of the output in messages. */
  readonly at: string;
  readonly runId: string;
  readonly runLog?: RunLog | undefined;
  readonly warn?: ((warning: Warning) => void) | undefined;
  /** UTC date on which the run was first started: `YYYY-MM-DD`. */
  runDate(): string;
}
