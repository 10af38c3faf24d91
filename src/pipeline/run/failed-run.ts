import type { RunReport } from './report.js';

/** What a run did that published nothing, as far as it came. Its sinks are those that were closed. */
export interface FailedRunReport extends RunReport {
  /** Pages that the next run of the pipeline need not request again. */
  readonly keptPages: number;
}

const reports = new WeakMap<object, FailedRunReport>();

/** Notes the report of the run that fails with what is thrown. */
export function noteFailed(thrown: unknown, report: FailedRunReport): void {
  if (typeof thrown === 'object' && thrown !== null) reports.set(thrown, report);
}

/**
 * The report of the run that failed with an error; `undefined` when it failed before it could begin, as where another run has the outputs,
 * and for what no run threw.
 *
 * @param error What `runPipeline` was rejected with.
 *
 * @example
 * await runPipeline(pipeline).catch((error) => console.error(`${failedRunOf(error)?.read ?? 0} rows were read, none published`));
 */
export function failedRunOf(error: unknown): FailedRunReport | undefined {
  return typeof error === 'object' && error !== null ? reports.get(error) : undefined;
}
