import { version } from '../core/index.js';
import type { FailedRunReport, Pipeline, RunReport } from '../index.js';
import type { RunObserver } from './status.js';

/** A pipeline in a report: unknown facts are left out, as for a run that did not begin. */
export interface PipelineDocument extends Partial<Omit<FailedRunReport, 'pipeline'>>, Partial<Pick<RunObserver, 'requests' | 'stages'>> {
  readonly status: 'published' | 'failed' | 'closed' | 'not_run';
  readonly pipeline: string | undefined;
  readonly file?: string;
  /** The exit code of this pipeline alone. */
  readonly exit?: number;
  readonly error?: { readonly code: string; readonly message: string; readonly help: string };
  readonly version: string;
  readonly service?: { readonly baseUrl: string; readonly limit: number | undefined; readonly concurrency: number | undefined };
}

export interface SeriesDocument {
  readonly status: 'published' | 'failed';
  readonly version: string;
  readonly exit: number;
  readonly pipelines: readonly PipelineDocument[];
}

export type ReportDocument = PipelineDocument | SeriesDocument;

export function documentOf(
  pipeline: Pipeline | undefined,
  { status, ...how }: Pick<PipelineDocument, 'status' | 'exit' | 'error'>,
  report?: RunReport | FailedRunReport,
  observed?: RunObserver,
): PipelineDocument {
  const { baseUrl, limit, concurrency } = pipeline?.connection ?? {};
  return {
    ...{ status, pipeline: pipeline?.name, ...how, version },
    ...(baseUrl !== undefined && { service: { baseUrl, limit, concurrency } }),
    ...report,
    ...(observed && { requests: observed.requests, stages: observed.stages }),
  };
}
