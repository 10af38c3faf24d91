import { version } from '../../core/index.js';
import type { FailedRunReport, Pipeline, RunReport } from '../../index.js';
import type { Observed } from '../observed.js';

/** What a report contains about one pipeline: unknown facts are left out, as for a run that never began. */
export interface PipelineDocument
  extends Partial<Omit<FailedRunReport, 'pipeline'>>, Partial<Pick<Observed, 'requests' | 'stages' | 'progress'>> {
  readonly status: 'published' | 'failed' | 'closed' | 'not_run';
  readonly pipeline: string | undefined;
  /** Pipeline file that could not be loaded. */
  readonly file?: string;
  /** Exit code that this pipeline alone would have given. */
  readonly exit?: number;
  readonly error?: { readonly code: string; readonly message: string; readonly help: string };
  /** Outputs that a gate refused and `--keep-failed` kept. */
  readonly kept?: readonly string[];
  readonly version: string;
  /** The service that was read, without credentials. */
  readonly service?: Partial<Pick<Pipeline['connection'], 'baseUrl' | 'limit' | 'concurrency'>>;
}

/** What a report contains about several pipelines. */
export interface SeriesDocument {
  readonly status: 'published' | 'failed';
  readonly version: string;
  readonly exit: number;
  readonly pipelines: readonly PipelineDocument[];
}

export type ReportDocument = PipelineDocument | SeriesDocument;

/** How a run ended, and what is known of it. */
export interface DocumentedEnd extends Pick<PipelineDocument, 'status' | 'exit' | 'error' | 'kept'> {
  readonly report?: RunReport | FailedRunReport | undefined;
  readonly observed?: Observed;
}

/** Combines what is known of a run. */
export function documentOf(pipeline: Pipeline | undefined, { status, report, observed, ...how }: DocumentedEnd): PipelineDocument {
  return {
    status,
    pipeline: pipeline?.name,
    ...how,
    version,
    ...(pipeline && { service: serviceOf(pipeline) }),
    ...report,
    ...(observed && { requests: observed.requests, stages: observed.stages, progress: observed.progress }),
  };
}

function serviceOf({ connection: { baseUrl, limit, concurrency } }: Pipeline): NonNullable<PipelineDocument['service']> {
  return { baseUrl, ...(limit !== undefined && { limit }), ...(concurrency !== undefined && { concurrency }) };
}
