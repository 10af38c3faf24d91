/** The metrics in a file, named by the Prometheus conventions. All are gauges: a run sets them, and none accumulates. */
export const definitions = {
  leadstream_exit_code: { help: 'Exit code of the last command that wrote this file.', labels: [] },
  leadstream_run_last_timestamp_seconds: { help: 'When the last run ended, since 1970.', labels: ['pipeline'] },
  leadstream_run_last_success_timestamp_seconds: { help: 'When the last run that published ended, since 1970.', labels: ['pipeline'] },
  leadstream_run_exit_code: { help: 'Exit code of the last run, or of the command if it failed before a run.', labels: ['pipeline'] },
  leadstream_run_duration_seconds: { help: 'How long the last run took.', labels: ['pipeline'] },
  leadstream_run_pages: { help: 'Pages of the collection that the last run read.', labels: ['pipeline'] },
  leadstream_run_read_rows: { help: 'Rows of the collection that the last run read.', labels: ['pipeline'] },
  leadstream_run_rows: { help: 'Row counts of an output of the last run.', labels: ['pipeline', 'output', 'count'] },
  leadstream_run_output_bytes: { help: 'Bytes of an output of the last run.', labels: ['pipeline', 'output'] },
  leadstream_run_requests: { help: 'Request attempts of the last run.', labels: ['pipeline', 'purpose'] },
  leadstream_run_retries: {
    help: 'Retries of the last run, by HTTP status, or error code if there was none.',
    labels: ['pipeline', 'reason'],
  },
  leadstream_run_response_bytes: { help: 'Bytes of all responses of the last run, after decompression.', labels: ['pipeline'] },
} as const satisfies Readonly<Record<string, { readonly help: string; readonly labels: readonly string[] }>>;

export type MetricName = keyof typeof definitions;

/** One value. */
export interface Sample {
  readonly name: MetricName;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function isMetric(name: string): name is MetricName {
  return Object.hasOwn(definitions, name);
}
