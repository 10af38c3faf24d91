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
    help: 'Set the variable, in the environment or in the file of --env. A reference that is no credential may have a default: ${NAME:-default}.',
  },
  E_SOURCE_CONFIG: { exit: 78, retry: false, help: 'Correct the address of the service, the key or the option named.' },
  E_SOURCE_AUTH: {
    exit: 77,
    retry: false,
    help: 'Check the credentials under service.auth or in the environment, and that the account may read. A variable of the environment counts before the file of --env.',
  },
  E_SOURCE_UNAVAILABLE: {
    exit: 69,
    retry: true,
    help: 'The service could not be reached, or answered with errors alone; run again later. If it never worked, check base_url.',
  },
  E_SOURCE_ANSWER: {
    exit: 69,
    retry: true,
    help: 'The response was not a list of records; check base_url against the documentation of the service. `leadstream doctor` shows what comes.',
  },
  E_SOURCE_ROWS: {
    exit: 69,
    retry: true,
    help: 'Compare rows of the collection with the documentation of the service; what it says of an empty list is declared under end.',
  },
  E_SOURCE_CURSOR: {
    exit: 69,
    retry: false,
    help: 'Compare next, last and more of the collection with the documentation of the service; if they are right, ask whoever runs it.',
  },
  E_SOURCE_LINK: {
    exit: 69,
    retry: false,
    help: 'Set base_url to the address that the service gives in its links (https where they have it), or ask whoever runs it.',
  },
  E_SOURCE_CLOSED: {
    exit: 69,
    retry: false,
    help: 'The program closed the connection that it reads by; close it when everything was read, or connect again.',
  },
  E_SOURCE_REFUSED: { exit: 69, retry: false, help: 'The service refused the request; check base_url, limit and the collection.' },
  E_SOURCE_TLS: {
    exit: 69,
    retry: false,
    help: 'Check that base_url names the host that the certificate is for, that it has a port that speaks TLS, and the clock here. Put the certificates of an authority of your own into a file and set NODE_EXTRA_CA_CERTS to it; an expired certificate has to be renewed by whoever runs the service.',
  },
  E_SOURCE_PROXY: {
    exit: 69,
    retry: false,
    help: 'The proxy refused. Correct its address, user or password where it is set: the option proxy, or HTTPS_PROXY and HTTP_PROXY in the environment; NO_PROXY there names the hosts that need none.',
  },
  E_SOURCE_LIMIT: {
    exit: 69,
    retry: false,
    help: 'An answer was too large (lower service.limit or raise service.max_page_bytes), or its records too wide (ask whoever runs the service).',
  },
  E_SOURCE_ORDER: { exit: 69, retry: true, help: 'Rows came after an empty page: the list changed or an answer was wrong; run again.' },
  E_SOURCE_PAGE_IGNORED: {
    exit: 69,
    retry: false,
    help: 'The service returns the same rows for every page; it cannot be read page by page.',
  },
  E_SOURCE_FIRST_PAGE: {
    exit: 69,
    retry: false,
    help: 'The service numbers its pages from another number; set service.first_page (or set it to 1 if this is wrong). `leadstream doctor` finds it out.',
  },
  E_SOURCE_PAGE_CAP: {
    exit: 69,
    retry: false,
    help: 'The service returns no page beyond a certain number; raise service.limit so that fewer pages are needed, or ask whoever runs it.',
  },
  E_SOURCE_ENDLESS: {
    exit: 69,
    retry: false,
    help: 'The service repeats rows on every further page and never ends the list; ask whoever runs it, or set service.max_pages.',
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
  E_STEP_CONDITION: { exit: 1, retry: false, help: 'Look at the row, or choose otherwise: reject or drop.' },
  E_STEP_FUNCTION: {
    exit: 1,
    retry: false,
    help: 'A function that the program or a plug-in gave to a step failed, or gave what a step cannot take; correct it at the place named. What it threw is the cause of the error.',
  },
  E_STEP_OVERFLOW: {
    exit: 1,
    retry: false,
    help: 'Sum whole numbers as decimals, by sum(num(field)) or, of a field that is an integer, sum(double(field)); where decimals are summed, filter out values that cannot be right.',
  },
  E_STEP_SCRATCH: {
    exit: 1,
    retry: true,
    help: 'Free space where the step spills rows (--state-dir chooses another place), or give the step more memory.',
  },
  E_STEP_MATCHES: { exit: 1, retry: false, help: 'Several rows match; choose pick: first, all, { max: field } or { min: field }.' },
  E_SINK_CONFIG: { exit: 78, retry: false, help: 'Correct the options of the sink, or what writeTo was given.' },
  E_SINK_PATH: { exit: 1, retry: false, help: 'Choose a path that can be written, or make this one writable.' },
  E_SINK_FOREIGN: {
    exit: 1,
    retry: false,
    help: 'A table is the link that a Parquet sink publishes, like lake/leads, and only tables have earlier runs; name one, or for a sink a path that is free.',
  },
  E_SINK_WRITE: { exit: 1, retry: true, help: 'Check free space and permissions of the destination.' },
  E_SINK_FUNCTION: {
    exit: 1,
    retry: true,
    help: 'A sink of the program or of a plug-in failed, and nothing was published; look at its destination, or correct it at the place named. What it threw is the cause of the error.',
  },
  E_SINK_VALUE: {
    exit: 1,
    retry: false,
    help: 'Clean the value before the sink, choose another engine, or choose on_error: reject or null.',
  },
  E_SINK_FIELD: {
    exit: 1,
    retry: true,
    help: 'A field that nobody declared came after the first page, when the columns were fixed, or one came that the columns given to fromPages do not name; name the fields that are wanted, by fields of with, by select or under columns of writeTo.',
  },
  E_SINK_KEY: {
    exit: 1,
    retry: false,
    help: 'Add a dedupe step, or name columns that identify a row under key; without such columns use mode: replace.',
  },
  E_SINK_RUN: { exit: 1, retry: false, help: 'Name a run that is kept; `leadstream runs DIR` lists them.' },
  E_SINK_VERIFY: { exit: 1, retry: true, help: 'A written file did not read back as it was written; check the disk.' },
  E_GATE_REJECTS: { exit: 65, retry: false, help: 'Read the rejects file; clean the rows, or raise rejects.max.' },
  E_GATE_MATCH: { exit: 65, retry: false, help: 'Check the fields of the join, or lower min_match.' },
  E_GATE_EXPECT: {
    exit: 65,
    retry: false,
    help: 'Look into the rows (run --keep-failed keeps the outputs aside); if they are right, change what the file expects, or run once with --allow-shrink where an output shrank.',
  },
  E_GATE_SHRINK: {
    exit: 65,
    retry: true,
    help: 'A list lost most of its rows since the last run. Ask whoever runs the service whether that is right.',
  },
  E_GATE_PARTIAL: {
    exit: 65,
    retry: false,
    help: 'Write to another place, or run once with --allow-partial, which replaces what is there by the rows before the limit.',
  },
  E_GATE_SCHEMA: {
    exit: 65,
    retry: false,
    help: 'The columns do not fit those of the last run; correct service or steps, or publish once with schema: evolve and mode: replace.',
  },
  E_GATE_STRICT: {
    exit: 65,
    retry: false,
    help: 'The option service.strict refuses what would otherwise be a warning; look into it, or run without strict. Where only the count of an earlier run is missing, run once with --allow-shrink.',
  },
  E_GATE_CONSISTENCY: {
    exit: 65,
    retry: true,
    help: 'The list changed faster than it could be read; run again at a quieter time, raise max_passes, or set allow_unstable.',
  },
  E_GATE_VERIFY: {
    exit: 65,
    retry: false,
    help: 'The table is not what its run wrote: publish it again with mode: replace. An earlier run helps only if `leadstream verify --run RUN` finds nothing, for runs have files in common unless keep has copies.',
  },
  E_GATE_BOOKS: { exit: 65, retry: false, help: 'Rows went missing inside leadstream: this is a defect, please report it with the sums.' },
  E_TEST_FAILED: {
    exit: 1,
    retry: false,
    help: 'A run came to something else than its test expects: correct the pipeline, or what the test expects of it.',
  },
  E_DATA: { exit: 78, retry: false, help: 'Correct or shorten the data file, or leave it away to serve an empty collection.' },
  E_ROW_NOT_FOUND: {
    exit: 1,
    retry: false,
    help: 'Check the key: its values in the order of the columns named.',
  },
  E_ROW_FAILED: {
    exit: 1,
    retry: false,
    help: 'What the step, the output or the gate says of the row stands above; correct the step, clean the value before it, or choose on_error: reject or null.',
  },
  E_SERVICE_UNKNOWN: {
    exit: 76,
    retry: false,
    help: 'Read the findings: each says what was asked and what came. What is a problem has to be put right at the service or in the configuration; then run doctor again.',
  },
  E_RUN_LOCKED: {
    exit: 75,
    retry: true,
    help: 'Another run works there; wait for its end, or end it. The lock of a run that was killed is taken over within a minute.',
  },
  E_STATE_FOREIGN: {
    exit: 1,
    retry: false,
    help: 'The state folder and what is in it must be made by leadstream for the user who runs it; look at what is named and remove it, or choose another folder by --state-dir.',
  },
  E_STATE_LOG: {
    exit: 1,
    retry: false,
    help: 'Name the state folder of the runs that wrote the table with --state-dir. If its log is lost, leave --state-dir out: verify then compares files and manifest alone.',
  },
  E_STATE_VERSION: {
    exit: 1,
    retry: false,
    help: 'Another version of leadstream left something in the state folder: finish or recover with that version, or look at what is named and remove it, or choose another folder by --state-dir.',
  },
  E_RUN_FOLDER: { exit: 1, retry: false, help: 'Change into a folder that is there (cd), and start again.' },
  E_RUN_FILES: {
    exit: 1,
    retry: false,
    help: 'Allow the process more open files, 1024 or more: `ulimit -n`, LimitNOFILE= of systemd, --ulimit nofile of a container.',
  },
  E_RUN_MEMORY: {
    exit: 1,
    retry: false,
    help: 'Give the process more memory. Where addresses are limited (`ulimit -v`), set NODE_OPTIONS=--disable-wasm-trap-handler, without which WebAssembly reserves gigabytes of them that it never uses; limit memory itself by MemoryMax= of systemd, or a container.',
  },
  E_RUN_DEADLINE: { exit: 69, retry: true, help: 'Run it again, or raise service.deadline.' },
  E_RUN_STALLED: {
    exit: 1,
    retry: false,
    help: 'A step must give every page back, also an empty one; what is handed a page by deliver or mapAsync, an operator under pipe or liftRows, the other side of a join and a function of a sink must come to an end; correct the step or the program.',
  },
  E_RUN_ABORTED: { exit: 130, retry: true, help: 'Run it again.' },
  E_RUN_FAILED: { exit: 1, retry: false, help: 'This is a defect of leadstream; please report it.' },
} as const satisfies Record<string, { readonly exit: ExitCode; readonly retry: boolean; readonly help: string }>;

/** A stable code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;

type Family = 'SPEC' | 'SOURCE' | 'STEP' | 'SINK' | 'GATE';

/** The codes of a family, such as `SINK`; each family has one error class. */
export type CodeOf<F extends Family> = Extract<ErrorCode, `E_${F}_${string}`>;

/** The codes without an error class of their own: usage, data files and runs, and a reference where there is no file to point into. */
export type GeneralCode = Exclude<ErrorCode, CodeOf<Family>> | 'E_SPEC_REFERENCE';
