import type { RunReport } from './report.js';

/** The report of a run that published nothing. Its sinks are those that were closed. */
export interface FailedRunReport extends RunReport {
  /** Number of pages that the next run of the pipeline does not need to request again. */
  readonly keptPages: number;
}

const reports = new WeakMap<object, FailedRunReport>();

/** Associates the report of a failed run with the thrown error. */
export function noteFailed(thrown: unknown, report: FailedRunReport): void {
  if (typeof thrown === 'object' && thrown !== null) reports.set(thrown, report);
}

/**
 * Returns the report of the run that failed with an error. Returns `undefined` if it failed before it could start, for example because
 * another run holds the outputs, and for errors not thrown by a run.
 *
 * @param error The rejection of `runPipeline`.
 *
 * @example
 * await runPipeline(pipeline).catch((error) => console.error(`${failedRunOf(error)?.read ?? 0} rows were read, none published`));
 */
export function failedRunOf(error: unknown): FailedRunReport | undefined {
  return typeof error === 'object' && error !== null ? reports.get(error) : undefined;
}
