/**
 * The lines of `--log-format json`, by the name in `event`. Names and fields are stable: fields are added, never renamed. Each line also
 * has `time` and `level`, and most have a `message` for people.
 */
export const logEvents = {
  'run.started': { level: 'info', summary: 'A run of a pipeline began.', fields: ['pipeline', 'run'] },
  'run.progress': {
    level: 'info',
    summary: 'Every 30 seconds: what the run is doing.',
    fields: ['pipeline', 'doing', 'collection', 'pages', 'rows', 'expected', 'bytes', 'retries', 'rowsPerSecond', 'secondsLeft'],
  },
  'run.finished': { level: 'info', summary: 'Everything is published.', fields: ['pipeline', 'run', 'report'] },
  'run.failed': {
    level: 'info',
    summary: 'Nothing was published; the pages that were read are kept for the next run. `command.failed` says why.',
    fields: ['pipeline', 'run', 'code', 'exit', 'keptPages'],
  },
  'run.closed': {
    level: 'info',
    summary: 'The reader of a run that only prints closed the stream, which is not a failure.',
    fields: ['pipeline', 'run'],
  },
  'series.finished': { level: 'info', summary: 'Several pipelines were run, and none failed.', fields: ['exit'] },
  'series.failed': {
    level: 'error',
    summary:
      'Several pipelines were run, and some failed; `code`, `error` and `help` are those of the failure that determined the exit code.',
    fields: ['exit', 'code', 'error', 'help'],
  },
  'command.failed': {
    level: 'error',
    summary: 'The command failed, or one of several pipelines; outputs that a gate refused may be `kept`.',
    fields: ['pipeline', 'code', 'help', 'exit', 'kept'],
  },
  'request.retried': {
    level: 'warn',
    summary: 'An attempt at a request failed and is repeated.',
    fields: ['run', 'code', 'url', 'attempt', 'delayMs'],
  },
  'request.finished': {
    level: 'debug',
    summary: 'An attempt at a request ended.',
    fields: ['run', 'url', 'collection', 'page', 'purpose', 'attempt', 'status', 'bytes', 'error', 'aborted', 'ms'],
  },
  'page.read': {
    level: 'debug',
    summary: 'A page of a list was read; `at` is the step that reads it, if any.',
    fields: ['run', 'collection', 'at', 'number', 'rows', 'pages', 'read'],
  },
  'page.processed': { level: 'debug', summary: 'A page came out of a step.', fields: ['run', 'at', 'number', 'rows'] },
  'page.written': {
    level: 'debug',
    summary: 'A page was passed to a sink.',
    fields: ['run', 'at', 'number', 'rows', 'error', 'aborted', 'ms'],
  },
  'read.started': { level: 'debug', summary: 'The read of a list began.', fields: ['run', 'collection', 'at', 'expected'] },
  'read.waiting': {
    level: 'debug',
    summary: 'A list seems to have ended, perhaps too early; it is checked again after `delayMs`.',
    fields: ['run', 'collection', 'at', 'read', 'delayMs'],
  },
  'read.finished': {
    level: 'debug',
    summary: 'A list was read to its confirmed end.',
    fields: ['run', 'collection', 'at', 'expected', 'pages', 'read', 'outcome', 'repaired', 'error', 'aborted', 'ms'],
  },
  'step.finished': { level: 'info', summary: 'What a step did with all rows.', fields: ['pipeline', 'run', 'at', 'tally', 'busyMs'] },
  'output.finished': {
    level: 'debug',
    summary: 'The files of a sink were closed, synced and read back.',
    fields: ['run', 'at', 'rows', 'bytes', 'error', 'aborted', 'ms'],
  },
  'output.published': { level: 'info', summary: 'An output is published.', fields: ['pipeline', 'run', 'at', 'path', 'rows', 'bytes'] },
  'commit.finished': {
    level: 'debug',
    summary: 'All outputs became visible.',
    fields: ['run', 'outputs', 'actions', 'error', 'aborted', 'ms'],
  },
  warning: { level: 'warn', summary: 'Something was detected that is not a failure.', fields: ['run', 'code'] },
  'file.refused': {
    level: 'error',
    summary: '`validate` found something wrong in a pipeline file.',
    fields: ['code', 'file', 'line', 'column', 'exit'],
  },
  'file.warned': {
    level: 'warn',
    summary: '`validate` or `test` found something that is valid but probably not intended.',
    fields: ['code', 'file', 'line', 'column'],
  },
  message: { level: 'info', summary: 'Any other message; some have another level.', fields: [] },
} as const satisfies Record<string, { readonly level: string; readonly summary: string; readonly fields: readonly string[] }>;

/** The name of a log line. */
export type LogEvent = keyof typeof logEvents;
