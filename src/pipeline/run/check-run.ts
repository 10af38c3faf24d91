import { LeadstreamError, schema } from '../../core/index.js';
import { watchersProblem } from '../../events/index.js';
import { RateLimiters } from '../../http/index.js';
import { callback, given, judgedBy, optionProblems } from '../../options/index.js';

const taken = schema((z) =>
  z.strictObject({
    signal: z.custom((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
    stdout: z.object({ write: callback() }).optional(),
    stateDir: z.string().min(1).optional(),
    restart: z.boolean().optional(),
    keepFailed: z.boolean().optional(),
    allowShrink: z.boolean().optional(),
    allowPartial: z.boolean().optional(),
    now: z.date().optional(),
    limiters: z.custom((value) => value instanceof RateLimiters, 'must be RateLimiters').optional(),
    ended: callback().optional(),
    watch: judgedBy(watchersProblem).optional(),
  }),
);

/** @throws {LeadstreamError} `E_USAGE` for anything that is not a pipeline, and for invalid options. */
export function checkRun(pipeline: unknown, options: unknown): void {
  checkPipeline('runPipeline', pipeline);
  const [problem] = optionProblems(taken(), options);
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `runPipeline: ${problem}`);
}

/** @throws {LeadstreamError} `E_USAGE` for anything that is not a pipeline. */
export function checkPipeline(at: string, pipeline: unknown): void {
  if (isPipeline(pipeline)) return;
  const remedy = `the first argument must be a pipeline, like await loadPipeline(file)`;
  throw new LeadstreamError('E_USAGE', `${at}: ${remedy}, not ${given(pipeline)}`);
}

function isPipeline(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'plan' in value && 'connection' in value;
}
