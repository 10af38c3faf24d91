import type { ExitCode } from './exit-codes.js';

/**
 * The catalogue of failures that a user can meet.
 *
 * `exit` is the exit status of the process, `retry` whether running again unchanged can help, and `help` what to do next. Codes are stable:
 * scripts may depend on them.
 *
 * @example
 * const { exit, retry } = catalogue.E_SOURCE_UNAVAILABLE; // 69, true
 */
export const catalogue = {
  E_USAGE: { exit: 2, retry: false, help: 'See `leadstream --help` and the help of the command.' },
  E_SPEC_FILE: { exit: 78, retry: false, help: 'Check the path of the pipeline file, and that this user may read it.' },
  E_SPEC_YAML: { exit: 78, retry: false, help: 'Correct the YAML at the place named.' },
  E_SPEC_INVALID: {
    exit: 78,
    retry: false,
    help: 'Correct the key or value at the place named; `leadstream validate FILE` checks without a request.',
  },
  E_SPEC_REFERENCE: {
    exit: 78,
    retry: false,
    help: 'Set the variable in the environment or in the --env file. A reference that is not a credential may have a default: ${NAME:-default}.',
  },
  E_SOURCE_CONFIG: { exit: 78, retry: false, help: 'Correct the address of the service, the key or the option named.' },
  E_SOURCE_AUTH: {
    exit: 77,
    retry: false,
    help: 'Check the credentials under service.auth or in the environment, and that the account has read access. An environment variable takes precedence over the --env file.',
  },
  E_SOURCE_UNAVAILABLE: {
    exit: 69,
    retry: true,
    help: 'The service could not be reached or returned only errors; run again later. If it never worked, check base_url.',
  },
  E_SOURCE_ANSWER: {
    exit: 69,
    retry: true,
    help: 'The response was not a list of records; check base_url against the documentation of the service. `leadstream doctor` shows what the service returns.',
  },
  E_SOURCE_ROWS: {
    exit: 69,
    retry: true,
    help: 'Compare rows of the collection with the documentation of the service; declare under end how it returns an empty list.',
  },
  E_SOURCE_CURSOR: {
    exit: 69,
    retry: false,
    help: "Compare next, last and more of the collection with the documentation of the service; if they are right, contact the service's operator.",
  },
  E_SOURCE_LINK: {
    exit: 69,
    retry: false,
    help: "Set base_url to the address that the service uses in its links (with https if they have it), or contact the service's operator.",
  },
  E_SOURCE_CLOSED: {
    exit: 69,
    retry: false,
    help: 'The program closed the connection while reading from it; close it after everything is read, or connect again.',
  },
  E_SOURCE_REFUSED: { exit: 69, retry: false, help: 'The service refused the request; check base_url, limit and the collection.' },
  E_SOURCE_TLS: {
    exit: 69,
    retry: false,
    help: "Check that base_url has the host that the certificate is for and a port that speaks TLS, and check this machine's clock. For a certificate authority of your own, set NODE_EXTRA_CA_CERTS to a file with its certificates; an expired certificate must be renewed by the service's operator.",
  },
  E_SOURCE_PROXY: {
    exit: 69,
    retry: false,
    help: 'The proxy refused the request. Correct its address, user or password where it is set: the option proxy, or HTTPS_PROXY and HTTP_PROXY in the environment; NO_PROXY lists the hosts that need no proxy.',
  },
  E_SOURCE_LIMIT: {
    exit: 69,
    retry: false,
    help: "A response was too large (lower service.limit or raise service.max_page_bytes), or its records are too wide (contact the service's operator).",
  },
  E_SOURCE_ORDER: { exit: 69, retry: true, help: 'Rows followed an empty page: the list changed or a response was wrong; run again.' },
  E_SOURCE_PAGE_IGNORED: {
    exit: 69,
    retry: false,
    help: 'The service returns the same rows for every page; it cannot be read page by page.',
  },
  E_SOURCE_FIRST_PAGE: {
    exit: 69,
    retry: false,
    help: "The service's first page has another number; set service.first_page (or set it to 1 if this is wrong). `leadstream doctor` determines it.",
  },
  E_SOURCE_PAGE_CAP: {
    exit: 69,
    retry: false,
    help: "The service returns no page beyond a certain number; raise service.limit so that fewer pages are needed, or contact the service's operator.",
  },
  E_SOURCE_ENDLESS: {
    exit: 69,
    retry: false,
    help: "The service repeats rows on every further page and never ends the list; contact the service's operator, or set service.max_pages.",
  },
  E_SOURCE_MAX_PAGES: {
    exit: 69,
    retry: false,
    help: 'The list is longer than service.max_pages allows; raise it, or find out why the list does not end.',
  },
  E_STEP_CONFIG: { exit: 78, retry: false, help: 'Correct the arguments of the step.' },
  E_STEP_FIELD: { exit: 1, retry: false, help: 'Name a field that the rows have at this step.' },
  E_STEP_VALUE: { exit: 1, retry: false, help: 'Clean the value before this step, or choose on_error: reject or null.' },
  E_STEP_EXPRESSION: { exit: 1, retry: false, help: 'Guard the expression against the value, or choose on_error: reject or null.' },
  E_STEP_CONDITION: { exit: 1, retry: false, help: 'Check the row, or set otherwise: reject or drop.' },
  E_STEP_FUNCTION: {
    exit: 1,
    retry: false,
    help: 'A function that the program or a plug-in passed to a step failed, or returned something that the step cannot take; correct it at the place named. What it threw is the cause of the error.',
  },
  E_STEP_OVERFLOW: {
    exit: 1,
    retry: false,
    help: 'Sum whole numbers as decimals: sum(num(field)), or sum(double(field)) if the field is an integer; if decimals are summed, filter out values that cannot be right.',
  },
  E_STEP_SCRATCH: {
    exit: 1,
    retry: true,
    help: 'Free space on the disk that the step spills rows to (--state-dir chooses another one), or give the step more memory.',
  },
  E_STEP_MATCHES: { exit: 1, retry: false, help: 'Several rows match; choose pick: first, all, { max: field } or { min: field }.' },
  E_SINK_CONFIG: { exit: 78, retry: false, help: 'Correct the options of the sink, or the arguments of writeTo.' },
  E_SINK_PATH: { exit: 1, retry: false, help: 'Choose a writable path, or make this one writable.' },
  E_SINK_FOREIGN: {
    exit: 1,
    retry: false,
    help: 'Something that leadstream did not make is at the path: move it away, or choose an unused path. Commands about tables take the link that a Parquet sink publishes, like lake/leads.',
  },
  E_SINK_WRITE: { exit: 1, retry: true, help: 'Check free space and permissions of the destination.' },
  E_SINK_FUNCTION: {
    exit: 1,
    retry: true,
    help: 'A sink of the program or of a plug-in failed, and nothing was published; check its destination, or correct it at the place named. What it threw is the cause of the error.',
  },
  E_SINK_VALUE: {
    exit: 1,
    retry: false,
    help: 'Clean the value before the sink, choose another engine, or choose on_error: reject or null.',
  },
  E_SINK_FIELD: {
    exit: 1,
    retry: true,
    help: 'An undeclared field arrived after the first page, when the columns were fixed, or a field that is not among the columns given to fromPages; name the fields that you need in fields of with, in select or under columns of writeTo.',
  },
  E_SINK_KEY: {
    exit: 1,
    retry: false,
    help: 'Add a dedupe step, or name columns that identify a row under key; without such columns use mode: replace.',
  },
  E_SINK_RUN: { exit: 1, retry: false, help: 'Name a run that is kept and undamaged; `leadstream runs DIR` lists them.' },
  E_SINK_VERIFY: { exit: 1, retry: true, help: 'A file that was read back differs from what was written; check the disk.' },
  E_GATE_REJECTS: { exit: 65, retry: false, help: 'Read the rejects file; clean the rows, or raise rejects.max.' },
  E_GATE_MATCH: { exit: 65, retry: false, help: 'Check the fields of the join, or lower min_match.' },
  E_GATE_EXPECT: {
    exit: 65,
    retry: false,
    help: 'Inspect the rows (run --keep-failed quarantines the outputs); if they are right, change what the file expects, or, if an output shrank, run once with --allow-shrink.',
  },
  E_GATE_SHRINK: {
    exit: 65,
    retry: true,
    help: "A list lost most of its rows since the last run. Ask the service's operator whether that is right.",
  },
  E_GATE_PARTIAL: {
    exit: 65,
    retry: false,
    help: 'Write to another path, or run once with --allow-partial, which replaces the existing output with the rows before the limit.',
  },
  E_GATE_SCHEMA: {
    exit: 65,
    retry: false,
    help: 'The columns do not fit those of the last run; correct the service or the steps, or publish once with schema: evolve and mode: replace.',
  },
  E_GATE_STRICT: {
    exit: 65,
    retry: false,
    help: 'The option service.strict turns this warning into a failure; investigate it, or run without strict. If only the count of an earlier run is missing, run once with --allow-shrink.',
  },
  E_GATE_CONSISTENCY: {
    exit: 65,
    retry: true,
    help: 'The list changed faster than it could be read; run again at a quieter time, raise max_passes, or set allow_unstable.',
  },
  E_GATE_VERIFY: {
    exit: 65,
    retry: false,
    help: 'The table is not what its run wrote: publish it again with mode: replace. An earlier run helps only if `leadstream verify --run RUN` finds no difference, because runs share files.',
  },
  E_GATE_BOOKS: { exit: 65, retry: false, help: 'Rows went missing inside leadstream: this is a bug, please report it with the sums.' },
  E_TEST_FAILED: {
    exit: 1,
    retry: false,
    help: 'A run ended differently from what its test expects: correct the pipeline, or the test.',
  },
  E_DATA: { exit: 78, retry: false, help: 'Correct or shorten the data file, or leave it out to serve an empty collection.' },
  E_ROW_NOT_FOUND: {
    exit: 1,
    retry: false,
    help: 'Check the key: one value per column, in the order of the columns named. --scan reads more rows of the list.',
  },
  E_SERVICE_UNKNOWN: {
    exit: 76,
    retry: false,
    help: 'Read the findings: each lists the requests and the responses. Fix the problems in the service or in the configuration, then run doctor again.',
  },
  E_RUN_LOCKED: {
    exit: 75,
    retry: true,
    help: 'Another run is working there; wait for it to end, or stop it. The lock of a killed run is taken over within a minute.',
  },
  E_STATE_FOREIGN: {
    exit: 1,
    retry: false,
    help: 'The state folder and its contents must be created by leadstream for the user who runs it; inspect and remove what is named, or choose another folder with --state-dir.',
  },
  E_STATE_LOG: {
    exit: 1,
    retry: false,
    help: 'With --state-dir, name the state folder of the runs that wrote the table. If its log is lost, leave --state-dir out: verify then compares only files and manifest.',
  },
  E_STATE_VERSION: {
    exit: 1,
    retry: false,
    help: 'Another version of leadstream logged a commit in the state folder: recover it with that version, or check its outputs and remove what is named.',
  },
  E_RUN_FOLDER: { exit: 1, retry: false, help: 'Change to an existing folder (cd), and start again.' },
  E_RUN_FILES: {
    exit: 1,
    retry: false,
    help: 'Raise the limit of open files to 1024 or more: `ulimit -n`, LimitNOFILE= of systemd, or --ulimit nofile of a container.',
  },
  E_RUN_MEMORY: {
    exit: 1,
    retry: false,
    help: 'Give the process more memory. If its address space is limited (`ulimit -v`), set NODE_OPTIONS=--disable-wasm-trap-handler: without it, WebAssembly reserves gigabytes of addresses that it never uses. Limit the memory itself with MemoryMax= of systemd, or with a container.',
  },
  E_RUN_DEADLINE: { exit: 69, retry: true, help: 'Run it again, or raise service.deadline.' },
  E_RUN_STALLED: {
    exit: 1,
    retry: false,
    help: 'A step must return every page, even an empty one; whatever deliver or mapAsync passes a page to, an operator under pipe or liftRows, the other side of a join and a function of a sink must finish; correct the step or the program.',
  },
  E_RUN_ABORTED: { exit: 130, retry: true, help: 'Run it again.' },
  E_RUN_FAILED: { exit: 1, retry: false, help: 'This is a bug in leadstream; please report it.' },
} as const satisfies Record<string, { readonly exit: ExitCode; readonly retry: boolean; readonly help: string }>;

/** A stable code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;

type Family = 'SPEC' | 'SOURCE' | 'STEP' | 'SINK' | 'GATE';

/** The codes of a family, such as `SINK`; each family has one error class. */
export type CodeOf<F extends Family> = Extract<ErrorCode, `E_${F}_${string}`>;

/** The codes without an error class of their own: usage, data files and runs, and a reference where there is no file to point into. */
export type GeneralCode = Exclude<ErrorCode, CodeOf<Family>> | 'E_SPEC_REFERENCE';
