import { version } from '../../core/index.js';
import type { FailedRunReport, Pipeline, RunReport } from '../../index.js';
import type { Observed } from './observed.js';

/** What a report contains about one pipeline. */
export interface PipelineDocument extends Partial<Omit<FailedRunReport, 'runId' | 'pipeline'>>, Partial<Omit<Observed, 'runId'>> {
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
  readonly runId?: string | undefined;
  readonly service?: ServiceDocument;
  /** Joins, with the share of rows that found a match. */
  readonly joins?: readonly { readonly at: string; readonly matched: number; readonly missed: number; readonly rate: number }[];
}

/** The service that was read, without credentials. */
export interface ServiceDocument {
  readonly baseUrl: string;
  readonly limit?: number;
  readonly concurrency?: number;
}

/** What a report contains about several pipelines. */
export interface SeriesDocument {
  readonly status: 'published' | 'failed';
  readonly version: string;
  readonly exit: number;
  readonly pipelines: readonly PipelineDocument[];
}

export type ReportDocument = PipelineDocument | SeriesDocument;

/** Returns the pipelines of a report. */
export function pipelinesOf(document: ReportDocument): readonly PipelineDocument[] {
  return 'pipelines' in document ? document.pipelines : [document];
}

/** How a run ended, and what is known of it. */
export interface RunEnd extends Pick<PipelineDocument, 'status' | 'exit' | 'error' | 'kept'> {
  readonly report: RunReport | FailedRunReport | undefined;
  readonly observed: Observed | undefined;
}

/** Combines what is known of a run. Unknown facts are left out, as for a run that never began. */
export function documentOf(pipeline: Pipeline | undefined, { report, observed, ...end }: RunEnd): PipelineDocument {
  const { status, ...how } = end;
  return {
    status,
    pipeline: pipeline?.name,
    ...how,
    version,
    ...(pipeline && { service: serviceOf(pipeline) }),
    ...observed,
    ...report,
    ...(report && { joins: joinsOf(report) }),
  };
}

function serviceOf({ connection: { baseUrl, limit, concurrency } }: Pipeline): ServiceDocument {
  return { baseUrl, ...(limit !== undefined && { limit }), ...(concurrency !== undefined && { concurrency }) };
}

function joinsOf({ steps }: RunReport): NonNullable<PipelineDocument['joins']> {
  return steps.flatMap(({ at, tally: { matched, missed } }) =>
    matched + missed === 0 ? [] : [{ at, matched, missed, rate: matched / (matched + missed) }],
  );
}
