import { byName } from './objects.js';

/** Exit codes: what happened, and who must act. They are stable, as scripts and schedulers depend on them. */
export const exitCodes = {
  0: { meaning: 'Published, or done.', action: 'Nothing.' },
  1: { meaning: 'The run failed: disk, permissions, a step.', action: 'A person reads `error` in the report.' },
  2: { meaning: 'Wrong usage.', action: 'A person corrects the command.' },
  65: {
    meaning: 'A gate refused; nothing was published.',
    action: 'Check the data; run again when it is fixed, which reads everything again.',
  },
  69: { meaning: 'The service could not be read, or a database not reached.', action: 'Run again; the run resumes.' },
  75: { meaning: 'Another run is writing to an output, or a shard is missing.', action: 'Run again when it has ended.' },
  76: {
    meaning: '`doctor` could not find out all that a run needs to know about the service, or found that no run can read it.',
    action: 'A person reads the findings.',
  },
  77: { meaning: 'The credentials were refused.', action: 'A person changes the key, now.' },
  78: { meaning: 'The pipeline file is wrong.', action: 'A person corrects it, now: `leadstream validate FILE` names line and column.' },
  129: { meaning: 'Stopped by SIGHUP.', action: 'Run again; the run resumes.' },
  130: { meaning: 'Stopped by SIGINT.', action: 'Run again; the run resumes.' },
  143: { meaning: 'Stopped by SIGTERM.', action: 'Run again; the run resumes.' },
} as const satisfies Readonly<Record<number, { readonly meaning: string; readonly action: string }>>;

export type ExitCode = keyof typeof exitCodes;

/**
 * The failures that a user can meet: exit status, whether the same run can succeed later, and what to do next. Codes are stable.
 *
 * @example
 * const { exit, retry } = catalogue.E_SOURCE_UNAVAILABLE; // 69, true
 */
export const catalogue = {
  E_USAGE: entry(2, 'See `leadstream --help` and the help of the command.'),
  E_SPEC_FILE: entry(78, 'Check the path of the pipeline file, and that this user may read it.'),
  E_SPEC_YAML: entry(78, 'Correct the YAML at the place named.'),
  E_SPEC_INVALID: entry(78, 'Correct the key or value at the place named; `leadstream validate` checks it again.'),
  E_SPEC_REFERENCE: entry(78, 'Set the variable in the environment or in the --env file.'),
  E_SOURCE_CONFIG: entry(78, 'Correct the address of the service, the key or the option named.'),
  E_SOURCE_AUTH: entry(77, 'Check the credentials under service.auth or in the environment, and their access.'),
  E_SOURCE_UNAVAILABLE: entry(69, 'Run again later; if it never worked, check base_url.', true),
  E_SOURCE_ANSWER: entry(69, 'Check base_url; `leadstream doctor` shows what the service returns.', true),
  E_SOURCE_ROWS: entry(69, 'Correct rows of the collection, or declare under end what an empty list looks like.', true),
  E_SOURCE_CURSOR: entry(69, 'Check next, last and more of the collection; if they are right, ask the operator.'),
  E_SOURCE_LINK: entry(69, 'Set base_url to the address in the links of the service, with https if they have it, or correct query.'),
  E_SOURCE_CLOSED: entry(69, 'Close the connection after everything is read, or connect again.'),
  E_SOURCE_REFUSED: entry(69, 'Check base_url, limit and the collection.'),
  E_SOURCE_TLS: entry(69, 'Check host and port of base_url and the clock; NODE_EXTRA_CA_CERTS adds an authority.'),
  E_SOURCE_PROXY: entry(69, 'Correct the proxy option, HTTPS_PROXY or HTTP_PROXY, or list the host in NO_PROXY.'),
  E_SOURCE_LIMIT: entry(69, 'Lower service.limit, or raise service.max_page_bytes.'),
  E_SOURCE_ORDER: entry(69, 'Run again; if it fails again, the service loses a page.', true),
  E_SOURCE_PAGE_IGNORED: entry(69, 'Declare paging with scheme none if one response is the whole list, or ask the operator for pages.'),
  E_SOURCE_FIRST_PAGE: entry(69, 'Set service.first_page; `leadstream doctor` determines it.'),
  E_SOURCE_PAGE_CAP: entry(69, 'Raise service.limit, so that fewer pages are needed, or ask the operator.'),
  E_SOURCE_ENDLESS: entry(69, 'Ask the operator, set service.max_pages, or keep_all (on_duplicate_key) if the key identifies no row.'),
  E_SOURCE_MAX_PAGES: entry(69, 'Raise service.max_pages, or find out why the list does not end.'),
  E_SOURCE_RANGE: entry(78, 'Name pages that the list has.'),
  E_STEP_CONFIG: entry(78, 'Correct the arguments of the step.'),
  E_STEP_FIELD: entry(1, 'Name a field that the rows have at this step.'),
  E_STEP_VALUE: entry(1, 'Clean the value before this step, or choose on_error: reject or null.'),
  E_STEP_EXPRESSION: entry(1, 'Guard the expression against the value, or choose on_error: reject or null.'),
  E_STEP_CONDITION: entry(1, 'Check the row, or set otherwise: reject or drop.'),
  E_STEP_FUNCTION: entry(1, 'Correct the function at the place named; what it threw is the cause of the error.'),
  E_STEP_OVERFLOW: entry(1, 'Sum as decimals, sum(num(field)), or filter out values that cannot be right.'),
  E_STEP_SCRATCH: entry(1, 'Free space on the disk of --state-dir, or give the step more memory.', true),
  E_STEP_MATCHES: entry(1, 'Choose pick: first, all, { max: field } or { min: field }.'),
  E_SINK_CONFIG: entry(78, 'Correct the options of the sink, or the arguments of writeTo.'),
  E_SINK_PATH: entry(1, 'Choose a writable path, or make this one writable.'),
  E_SINK_DATABASE: entry(69, 'Run again when the database can be reached; what it has committed is not written twice.', true),
  E_SINK_AUTH: entry(77, 'Correct user and password of the database.'),
  E_SINK_FOREIGN: entry(1, 'Move what is at the path, or choose another; name a table by its link.'),
  E_SINK_WRITE: entry(1, 'Check free space and permissions; run again later if a store or catalog is busy.', true),
  E_SINK_FUNCTION: entry(1, 'Check the destination of the sink; what it threw is the cause of the error.', true),
  E_SINK_VALUE: entry(1, 'Clean the value before the sink, or choose on_error: reject or null.'),
  E_SINK_FIELD: entry(1, 'Name the fields to write: in fields of with, in select, or under columns.', true),
  E_SINK_KEY: entry(1, 'Add a dedupe step, name a key that identifies a row, or use mode: replace.'),
  E_SINK_RUN: entry(1, 'Name a run that is kept and undamaged; `leadstream runs DIR` lists them.'),
  E_SINK_VERIFY: entry(1, 'Check the disk: a file read back differs from what was written.', true),
  E_GATE_REJECTS: entry(65, 'Read the rejects file; clean the rows, or raise rejects.max.'),
  E_GATE_MATCH: entry(65, 'Check the fields of the join, or lower min_match.'),
  E_GATE_EXPECT: entry(
    65,
    'Preview the rows, or run with --set of the gate and other paths; if they are right, change expect or use --allow-shrink once.',
  ),
  E_GATE_SHRINK: entry(65, "Ask the service's operator whether the list lost these rows.", true),
  E_GATE_MISSING: entry(65, 'Run again with consistency: prove, or with on_missing: keep.'),
  E_GATE_MERGE: entry(
    65,
    'If the table should lose or change these rows, run once with --accept-deletes, or raise max_deleted or max_changed.',
  ),
  E_GATE_PARTIAL: entry(65, 'Write to another path, or run once with --allow-partial.'),
  E_GATE_SCHEMA: entry(65, 'Correct the steps, or publish once with schema: evolve and mode: replace.'),
  E_GATE_STRICT: entry(65, 'Investigate the warning, or run without service.strict.'),
  E_GATE_CONSISTENCY: entry(65, 'Run again at a quieter time, raise max_passes, or set allow_unstable.', true),
  E_GATE_KEY: entry(65, 'Declare a key that identifies a row, or set on_duplicate_key: keep_all or keep_first.'),
  E_GATE_GROUP: entry(65, 'Make values that many people share null before the step, such as a made-up number, or raise max_group.'),
  E_GATE_VERIFY: entry(65, 'Restore what the message names, or publish the table again with mode: replace.'),
  E_GATE_BOOKS: entry(65, 'Please report this bug, with the sums: leadstream lost rows.'),
  E_TEST_FAILED: entry(1, 'Correct the pipeline, or the test.'),
  E_DATA: entry(78, 'Correct the data file, or leave it out to serve an empty collection.'),
  E_ROW_NOT_FOUND: entry(1, 'Check the key: one value per column named; --scan reads more rows of the list.'),
  E_SERVICE_UNKNOWN: entry(76, 'Read the findings, correct the service or the configuration, and run doctor again.'),
  E_RUN_LOCKED: entry(75, 'Wait for the other run; the lock of a killed one is taken over within two minutes.', true),
  E_SHARD_PLAN: entry(78, 'Plan again, or use the file, version, account and keys of the plan.'),
  E_SHARD_MISSING: entry(75, 'Run the shards that are missing, then commit.', true),
  E_SHARD_MOVED: entry(75, 'Run it again; if it fails again, plan again at a quieter time, or use leadstream run.', true),
  E_RUN_TOGETHER: entry(75, 'See why the other pipelines of the file failed, and run all of them again.', true),
  E_STATE_FOREIGN: entry(1, 'Inspect and remove what is named, or choose another folder with --state-dir.'),
  E_STATE_LOG: entry(1, 'Name the state folder of the runs that wrote the table, or leave --state-dir out.'),
  E_STATE_VERSION: entry(1, 'Recover the commit with the version that logged it, or remove what is named.'),
  E_RUN_FILES: entry(1, 'Raise the limit of open files to 1024 or more, with `ulimit -n`.'),
  E_RUN_MEMORY: entry(1, 'Give the process more memory; with `ulimit -v`, NODE_OPTIONS=--disable-wasm-trap-handler.'),
  E_RUN_DEADLINE: entry(69, 'Run it again, or raise service.deadline.', true),
  E_RUN_STALLED: entry(1, 'Correct the step or function that does not finish, or does not return every page.'),
  E_RUN_ABORTED: entry(130, 'Run it again.', true),
  E_RUN_FAILED: entry(1, 'This is a bug in leadstream; please report it.'),
};

function entry(exit: ExitCode, help: string, retry = false) {
  return { exit, retry, help };
}

/** A stable code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;

type Family = 'SPEC' | 'SOURCE' | 'STEP' | 'SINK' | 'GATE';

/** The codes of a family, such as `SINK`, which has one error class. */
export type CodeOf<F extends Family> = Extract<ErrorCode, `E_${F}_${string}`>;

/** The codes without an error class of their own: usage, data files, runs, and references that are not in a file. */
export type GeneralCode = Exclude<ErrorCode, CodeOf<Family>> | 'E_SPEC_REFERENCE';

/** The environment variables that leadstream reads, listed in the reference; `secret` ones hold keys. */
export const environment = {
  LEADSTREAM_BASE_URL: { secret: false, summary: 'Address of the service, if a pipeline file has no `service`, and for `fetch`.' },
  LEADSTREAM_REST_API_KEY: { secret: true, summary: 'Key for that service; for `serve`, the key that it accepts.' },
  LEADSTREAM_AUTHORIZED_UID: { secret: false, summary: 'User of the other form of credentials.' },
  LEADSTREAM_AUTHORIZED_REST_API_KEY: { secret: true, summary: 'Key of that user.' },
  LEADSTREAM_HMAC_KEY: { secret: true, summary: 'Key of `mask: hmac`, at least 16 characters.' },
  LEADSTREAM_CATALOG_URI: {
    secret: false,
    summary: 'Iceberg catalog of a table, for `runs`, `files`, `rollback` and `verify` without a pipeline file.',
  },
  LEADSTREAM_CATALOG_TOKEN: { secret: true, summary: 'Token for that catalog.' },
  LEADSTREAM_CATALOG_CREDENTIAL: { secret: true, summary: 'Instead of a token, client credentials: `id:secret`.' },
  HTTPS_PROXY: { secret: true, summary: 'Proxy to a service with TLS, unless `NO_PROXY` lists its host. Also in lower case.' },
  HTTP_PROXY: { secret: true, summary: 'Proxy to a service without TLS.' },
  NO_PROXY: { secret: false, summary: 'Hosts that are requested without a proxy, like `localhost,.example.com,10.0.0.0/8`.' },
  AWS_ACCESS_KEY_ID: { secret: true, summary: 'Credentials for `s3://`, with the next two, or any others that the AWS SDK finds.' },
  AWS_SECRET_ACCESS_KEY: { secret: true, summary: 'Its secret key.' },
  AWS_SESSION_TOKEN: { secret: true, summary: 'Its session token, if it is temporary.' },
  AWS_CONTAINER_AUTHORIZATION_TOKEN: { secret: true, summary: 'Token with which the AWS SDK gets credentials in a container.' },
  AWS_REGION: { secret: false, summary: 'Region of the buckets, unless `store.region` is set.' },
  AWS_ENDPOINT_URL_S3: { secret: false, summary: 'Address of the store, unless `store.endpoint` is set.' },
  NODE_EXTRA_CA_CERTS: { secret: false, summary: 'File with certificates of additional trusted authorities.' },
} as const;

/** The variables whose values are redacted wherever they appear. */
export const secretVariables: readonly string[] = Object.entries(environment).flatMap(([name, { secret }]) => (secret ? [name] : []));

/** The warnings of a run, and what to do; `strict` makes them failures. Codes are stable. */
export const warningCatalogue = {
  W_SPEC_FLAG: 'Compare flag(field) instead of its text, or cast it first.',
  W_SPEC_TEXT: 'Convert the text with num(), epoch() or date(), or cast it first.',
  W_SPEC_CONSTANT: "Write a field's name without quotes: two constants are compared.",
  W_SPEC_ZONE: 'Write AT TIME ZONE once: instants in rows already have a zone.',
  W_SPEC_MATCHES: 'Join on all columns of the key, or choose a row with pick: several matches fail the run.',
  W_SOURCE_CAP: 'Set service.limit to the maximum page size of the service.',
  W_SOURCE_PROXY: 'Write names, endings, addresses and networks in NO_PROXY, like `.example.com,10.0.0.0/8`.',
  W_SOURCE_REPEATS: 'The service repeats its last page; the repeats were left out.',
  W_SOURCE_LINK: 'Set paging.keep_query: true adds the parameters of query to links, false accepts links without them.',
  W_SOURCE_PAGED: 'The service pages a collection that was declared unpaged; it was read by page.',
  W_SPOOL_STALE: 'The pages of an interrupted run could not be used; only time is lost.',
  W_RUN_RECOVERED: 'An earlier run was killed while it committed; its commit was completed first.',
  W_SINK_TIDY: 'Everything is published; the next run retries removing what is left over.',
  W_SINK_ABORT: 'Check the destination of the sink, which could not undo its writes, and correct its abort.',
  W_SINK_COLUMN: 'List the field under columns, or drop it with select; it is left out.',
  W_SOURCE_FIELD_NEW: 'The service has an undocumented field; tell the readers of the outputs.',
  W_SOURCE_FIELD_GONE: 'No row has a declared field, so its column is null; ask the operator.',
  W_SOURCE_EMPTY: 'A list is empty, and may always have been; check the service.',
  W_GATE_BASELINE: 'Name the state folder of the earlier runs with --state-dir: nothing was compared.',
  W_GATE_OVERRIDDEN: '--allow-shrink lets a shrunken list or output be published once.',
  W_SINK_EMPTY: 'Check the rejects: all rows were rejected; rejects.max refuses such a run.',
  W_STEP_EMPTY: 'Check the condition: a filter, or the where of a sink, kept no row; expect.min_rows refuses such a run.',
  W_STEP_NO_MATCH: 'Check the fields: a join found no match; min_match refuses such a run.',
  W_SINK_FOREIGN: 'Other programs expired all runs of a table; what they made of it was replaced.',
  W_SINK_KEPT: 'Rows stay in an output although the list did not have them; check the service, and the rejects.',
  W_SINK_LINK: 'The link of a table was missing, so all its rows were published again.',
  W_SINK_VIEW: 'Tables are published, but readers on this machine see the earlier ones until the next run or rollback.',
  W_STATE_LOG: 'Name the state folder of the runs: nothing else confirms the manifest.',
  W_RUN_RESTARTED: 'Declare the new fields to save time: the run started again to give them columns.',
  W_RUN_COUNTS: 'The counts of earlier runs cannot be read or stored; a list that shrank may go unnoticed.',
  W_RUN_PARTIAL: 'The outputs have only part of the list; later runs are not compared with them.',
  W_RUN_HOOK: 'Check the webhook; the run and its exit code are unaffected.',
  W_SOURCE_UNCHECKED: 'A part of the list could not be checked; the message says which, and what to do.',
  W_SOURCE_SINCE: 'The whole list was read; remove since if it often changes before its end.',
  W_SOURCE_DRIFT: 'The list changed while it was read; consistency: repair adds what was missed.',
} as const;

export type WarningCode = keyof typeof warningCatalogue;

/** The lines of `--log-format json`, by `event`. Names and fields are stable. Each also has `time` and `level`, most have a `message`. */
export const logEvents = {
  'run.started': line('info', 'A run of a pipeline began.', 'pipeline', 'run'),
  'run.progress': line('info', 'What the run is doing, every 30 seconds.', 'pipeline', 'doing', 'rows', 'expected', 'bytes', 'retries'),
  'run.finished': line('info', 'Everything is published.', 'pipeline', 'run', 'report'),
  'run.failed': line('info', 'Nothing was published; `command.failed` says why.', 'pipeline', 'run', 'code', 'exit', 'keptPages'),
  'run.closed': line('info', 'The reader of a run that only prints closed the stream; not a failure.', 'pipeline', 'run'),
  'series.finished': line('info', 'Several pipelines were run, and none failed.', 'exit'),
  'series.failed': line('error', 'Several pipelines were run, and some failed.', 'exit', 'code', 'error', 'help'),
  'command.failed': line('error', 'The command or one of several pipelines failed.', 'pipeline', 'code', 'help', 'exit'),
  'request.retried': line('warn', 'An attempt at a request failed and is repeated.', 'run', 'code', 'url', 'attempt', 'delayMs'),
  // They have the fields of `watch`; the end of an operation also has its `ms`.
  ...byName(['request', 'page', 'step', 'write', 'wait', 'read', 'finish', 'commit'], () =>
    line('debug', 'The event of this name that `watch` gets; an operation at its end.', 'run', '…'),
  ),
  'step.finished': line('info', 'What a step did with all rows.', 'pipeline', 'run', 'at', 'tally'),
  'output.published': line('info', 'An output is published.', 'pipeline', 'run', 'at', 'path', 'rows', 'bytes'),
  warning: line('warn', 'Something was detected that is not a failure.', 'run', 'code'),
  'file.refused': line('error', '`validate` found something wrong in a pipeline file.', 'code', 'file', 'line', 'column', 'exit'),
  'file.warned': line('warn', 'Something in a file is valid but probably not intended.', 'code', 'file', 'line', 'column'),
  message: line('info', 'Any other message; some have another level.'),
};

function line(level: 'error' | 'warn' | 'info' | 'debug', summary: string, ...fields: readonly string[]) {
  return { level, summary, fields };
}

export type LogEvent = keyof typeof logEvents;
