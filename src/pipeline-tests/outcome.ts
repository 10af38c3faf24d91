import { failureOf } from '../core/index.js';
import { failedRunOf, runPipeline, type ObservedPipeline, type PipelineTest, type RunReport, type TextRow } from '../pipeline/index.js';
import { Collected } from './collected.js';
import { refuseStopped } from './stopped.js';

/** What a run came to. */
export interface Outcome {
  /** Exit code of such a run. */
  readonly exit: number;
  /** What ended it. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
  /** Codes of its warnings. */
  readonly warnings: readonly string[];
  /** The rows that left the last step. */
  readonly rows: readonly TextRow[];
  /** What it did, be it in vain; none where it failed before it could begin. */
  readonly report: RunReport | undefined;
  readonly stdout: string;
}

/** Runs a pipeline as a test wants it, in a state folder of its own. */
export async function outcomeOf(
  { pipeline, rows }: ObservedPipeline,
  { now }: PipelineTest,
  { stateDir, signal }: { readonly stateDir: string; readonly signal?: AbortSignal | undefined },
): Promise<Outcome> {
  const stdout = new Collected();
  const warnings: string[] = [];
  const watch = { warning: ({ code }: { readonly code: string }) => void warnings.push(code) };
  const options = { stateDir, stdout, watch, ...(signal && { signal }), ...(now !== undefined && { now: new Date(now) }) };
  let [report, failure]: [RunReport?, ReturnType<typeof failureOf>?] = [];
  try {
    report = await runPipeline(pipeline, options);
  } catch (thrown) {
    refuseStopped(signal);
    report = failedRunOf(thrown);
    failure = failureOf(thrown);
  }
  return { exit: failure?.exit ?? 0, failure, warnings, rows: rows(), report, stdout: stdout.text };
}
