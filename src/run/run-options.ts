import { abortSignal, callable, check, checkUsage, filledText, flag, judged, object } from '../options/index.js';
import { RateLimiters } from '../http/index.js';
import { watchersProblem, type Watchers } from '../events/index.js';
import { checkPipeline } from '../plan/index.js';
import type { RunReport } from './report.js';

/** How a run ended: with the report of what it published, or with the rejection of `runPipeline`. */
export type RunEnd = { readonly report: RunReport } | { readonly failure: unknown };

/** The options of a run. */
export interface RunOptions {
  /** Stops the run; nothing is published. */
  readonly signal?: AbortSignal;
  /** Where the `stdout` sink writes. Default `process.stdout`. */
  readonly stdout?: NodeJS.WritableStream;
  /** State folder, for spooled pages and the redo log. Default `.leadstream` in the pipeline's base folder. */
  readonly stateDir?: string;
  /** Whether to discard the pages that an interrupted run has spooled. Default `false`. */
  readonly restart?: boolean;
  /** Whether to set aside prepared outputs refused by a gate instead of removing them; the `GateError` contains their paths. Default `false`. */
  readonly keepFailed?: boolean;
  /** Whether to publish lists and outputs that shrank more than allowed, this once. Default `false`. */
  readonly allowShrink?: boolean;
  /** Whether a run stopped by a limit may replace existing outputs. Default `false`. */
  readonly allowPartial?: boolean;
  /** Start time of the run, for paths, ids and expressions that refer to the time. Default: now. */
  readonly now?: Date;
  /** Rate limiters shared by runs, one per service: each run continues where the last one left off. Default: its own. */
  readonly limiters?: RateLimiters;
  /**
   * Called when the run has ended, and awaited before its webhook is notified: a program that stops a run may not
   * wait for both. What it throws becomes a warning (`W_RUN_HOOK`).
   */
  readonly ended?: (end: RunEnd) => unknown;
  /** Receives the events of this run. Default: only the subscribers of the channels. */
  readonly watch?: Watchers | undefined;
}

// A text such as 'false' would allow what must not be published.
const taken = object({
  ...{ signal: abortSignal, stateDir: filledText, ended: callable, watch: judged(watchersProblem) },
  ...{ restart: flag, keepFailed: flag, allowShrink: flag, allowPartial: flag },
  stdout: object({ write: callable }, ['write'], 'open'),
  now: check('a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())),
  limiters: check('RateLimiters', (value) => value instanceof RateLimiters),
});

/** @throws {LeadstreamError} `E_USAGE` for anything that is not a pipeline, and for invalid options. */
export function checkRun(pipeline: unknown, options: unknown): void {
  checkPipeline('runPipeline', pipeline);
  checkUsage('runPipeline', taken, options);
}
