import type { RateLimiters } from '../../http/index.js';
import type { Watchers } from '../../events/index.js';
import type { RunReport } from './report.js';

/** How a run ended: with the report of what it published, or with what `runPipeline` is rejected with. */
export type RunEnd = { readonly report: RunReport } | { readonly failure: unknown };

/** What a run takes from its surroundings. */
export interface RunOptions {
  /** Stops the run; nothing is published. */
  readonly signal?: AbortSignal;
  /** Where the `stdout` sink writes. Default `process.stdout`. */
  readonly stdout?: NodeJS.WritableStream;
  /** Folder of spooled pages and of the redo log. Default `.leadstream` in the pipeline's base folder. */
  readonly stateDir?: string;
  /** Whether pages that an interrupted run has spooled are thrown away. Default false. */
  readonly restart?: boolean;
  /** Whether prepared outputs that a gate refuses are put aside instead of removed; the `GateError` says where. Default false. */
  readonly keepFailed?: boolean;
  /** Whether lists and outputs that shrank more than is allowed are published this once. Default false. */
  readonly allowShrink?: boolean;
  /** Whether a run that a limit stops may replace outputs that exist. Default false. */
  readonly allowPartial?: boolean;
  /** When the run starts, for paths, ids and expressions that name the time. Default: now. */
  readonly now?: Date;
  /** Rate limiters that runs have in common, one per service: that of a run goes on where the last one left off. Default: its own. */
  readonly limiters?: RateLimiters;
  /** Whether the report has a profile of the columns that leave the last step. It costs a look at every value. Default false. */
  readonly profile?: boolean;
  /**
   * Called when the run has ended, and waited for before its webhook is told: whoever stops a run may not wait for both. What it throws is a
   * warning (`W_RUN_HOOK`).
   */
  readonly ended?: (end: RunEnd) => unknown;
  /** Receives what happens in this run. Default: nobody but the subscribers of the channels. */
  readonly watch?: Watchers | undefined;
}
