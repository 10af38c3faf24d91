/** The fields of the event that `watch` gets, and of an operation its `ms`. */
const asWatched = ['run', '…'];

/**
 * The lines of `--log-format json`, by the name in `event`. Names and fields are stable: fields are added, never renamed. Each line also
 * has `time` and `level`, and most have a `message` for people.
 */
export const logEvents = {
  'run.started': { level: 'info', summary: 'A run of a pipeline began.', fields: ['pipeline', 'run'] },
  'run.progress': {
    level: 'info',
    summary: 'Every 30 seconds: what the run is doing.',
    fields: ['pipeline', 'doing', 'rows', 'expected', 'bytes', 'retries'],
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
  request: { level: 'debug', summary: 'An attempt at a request ended.', fields: asWatched },
  page: { level: 'debug', summary: 'A page of a list was read.', fields: asWatched },
  step: { level: 'debug', summary: 'A page came out of a step.', fields: asWatched },
  write: { level: 'debug', summary: 'A page was passed to a sink.', fields: asWatched },
  wait: {
    level: 'debug',
    summary: 'A list seems to have ended, perhaps too early; it is checked again after `delayMs`.',
    fields: asWatched,
  },
  read: { level: 'debug', summary: 'A list was read to its confirmed end.', fields: asWatched },
  finish: { level: 'debug', summary: 'The files of a sink were closed, synced and read back.', fields: asWatched },
  commit: { level: 'debug', summary: 'All outputs became visible.', fields: asWatched },
  'step.finished': { level: 'info', summary: 'What a step did with all rows.', fields: ['pipeline', 'run', 'at', 'tally'] },
  'output.published': { level: 'info', summary: 'An output is published.', fields: ['pipeline', 'run', 'at', 'path', 'rows', 'bytes'] },
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
