import { LeadstreamError } from '../../core/index.js';
import { watchersProblem } from '../../events/index.js';
import { RateLimiters } from '../../http/index.js';
import { abortSignal, callable, check, checkUsage, filledText, flag, judged, kindOf, object } from '../../options/index.js';

const taken = object({
  signal: abortSignal,
  stdout: object({ write: callable }, ['write'], 'open'),
  ...{ stateDir: filledText, restart: flag, keepFailed: flag, allowShrink: flag, allowPartial: flag },
  now: check('a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())),
  limiters: check('RateLimiters', (value) => value instanceof RateLimiters),
  ended: callable,
  watch: judged(watchersProblem),
});

/** @throws {LeadstreamError} `E_USAGE` for anything that is not a pipeline, and for invalid options. */
export function checkRun(pipeline: unknown, options: unknown): void {
  checkPipeline('runPipeline', pipeline);
  checkUsage('runPipeline', taken, options);
}

/** @throws {LeadstreamError} `E_USAGE` for anything that is not a pipeline. */
export function checkPipeline(at: string, pipeline: unknown): void {
  if (isPipeline(pipeline)) return;
  const remedy = `the first argument must be a pipeline, like await loadPipeline(file)`;
  throw new LeadstreamError('E_USAGE', `${at}: ${remedy}, not ${kindOf(pipeline)}`);
}

function isPipeline(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'plan' in value && 'connection' in value;
}
