import { isObservable, type Observable } from 'rxjs';
import { createRedactor, newRunId, SinkError, unknownName, warnProcess } from '../core/index.js';
import type { Column, Consistency, Value, Warning } from '../core/index.js';
import { Events, watchersProblem, type Watchers } from '../events/index.js';
import { batchOf, countOf, deliver, fromPages, givenColumns, isPage, namingRow, RowStream, unlessDry } from '../flow/index.js';
import type { CountedStep, OpenedStream, Page, Side } from '../flow/index.js';
import { abortSignal, judged, kindOf, object, text } from '../options/index.js';
import type { PreparedOutput, SinkWriter } from '../sinks/index.js';
import { commitUnlogged } from '../store/index.js';
import { firstOtherThanText } from '../vector/index.js';
import { completed, refuseStopped } from './stop.js';

/** The options of `writeTo`. */
export interface WriteOptions {
  /**
   * The columns of the rows, in output order. Default: those of the stream, plus undeclared fields in rows of the first page, as texts. They are required for
   * an observable of pages, after an operator that is not part of leadstream, and after a `mapRows` or `mapAsync` without its own columns. Fields
   * that are not listed are left out with a warning (`W_SINK_COLUMN`).
   */
  readonly columns?: readonly Column[] | undefined;
  /** Name of what was written in a manifest. Default `writeTo`. */
  readonly name?: string | undefined;
  /** Stops it; nothing is published. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Receives events of the writing, and the warnings of the steps. Default: only the subscribers of the channels.
   * Events of reading a collection go to the `watch` of `connect`.
   */
  readonly watch?: Watchers | undefined;
}

/** What was published, in rows and bytes. */
export interface Written {
  readonly rows: number;
  readonly bytes: number;
  /** Its path; `undefined` for stdout. */
  readonly path: string | undefined;
  /** The result of the consistency check of the list; `undefined` if unknown, as for an observable of pages. */
  readonly consistency: Consistency | undefined;
  /** What the steps did with the rows, as in `RowStream.steps`; empty for an observable of pages. */
  readonly steps: readonly CountedStep[];
}

/**
 * Writes a stream to a sink and publishes it when it has been read to the end. If the stream or the sink fails, what the sink had published before stays, and
 * nothing else remains. Only one writer at a time, in any process, may work on a destination. A collection is read with `consistency: 'repair'`, and so are the
 * other sides of joins, unless `connect` or `with` say otherwise. Pages from `pages$` are read with `check`, as in a loop.
 *
 * @param rows Rows with their columns, or an observable of pages.
 * @param sink Opened for this stream alone, or a promise for it.
 * @throws The error of the stream, `SinkError`, `E_RUN_LOCKED`, `E_RUN_ABORTED` after `signal`, or `E_RUN_STALLED` if the stream or the sink can never end.
 * `E_SINK_CONFIG` for invalid arguments, and for columns that the rows do not have; `E_SINK_FIELD` for an undeclared field that arrived after the first page.
 *
 * @example
 * const { rows } = await writeTo(service.leads.pipe(select(['lead_id', 'timestamp'])), parquet({ path: 'lake/leads' }));
 */
export async function writeTo<T>(rows: Side<T>, sink: SinkWriter | PromiseLike<SinkWriter>, options: WriteOptions = {}): Promise<Written> {
  const claimed = await claimSink(sink);
  const writing = new Writing(claimed, options);
  try {
    checkWriting(rows, options);
    const stream: RowStream<T> = rows instanceof RowStream ? rows : fromPages(rows);
    // The stream and the functions of a sink report more specific errors, so these come first.
    return await unlessDry(writing.run(stream), 'writeTo: the stream of rows or the sink', 'ends');
  } finally {
    await writing.close();
  }
}

/** A stream that is being written to a sink. */
class Writing {
  readonly #startedAt = new Date().toISOString();
  #committed = false;
  #begun = false;
  #pages = 0;

  constructor(
    private readonly sink: SinkWriter,
    private readonly options: WriteOptions,
  ) {}

  async run<T>(rows: RowStream<T>): Promise<Written> {
    const { name = 'writeTo', signal, watch, columns: declared } = this.options;
    const events = new Events(newRunId(this.#startedAt), createRedactor([]), watch);
    const hear = (warning: Warning, isPublished: boolean) => events.warn(warning, !isPublished);
    const stream = RowStream.opened(rows, { purpose: 'writing', hear });
    const checked = new WrittenColumns(
      declared,
      () => stream.columns(),
      (warning) => {
        if (!events.warn(warning)) warnProcess(warning);
      },
    );
    const write = (page: Page) => {
      checked.check(page);
      return events.during(
        'write',
        () => ({ at: name, number: page.number, rows: countOf(page) }),
        () => this.#write(page, checked, stream.key),
      );
    };
    // `check` refuses anything that is not a page.
    await completed((stream.pages$ as Observable<unknown> as Observable<Page>).pipe(deliver(write)), signal);
    refuseStopped(signal);
    await this.#begin(checked);
    const prepared = await events.during(
      'finish',
      () => ({ at: name }),
      () => this.sink.prepare(),
      ({ rows, bytes }) => ({ rows, bytes }),
    );
    refuseStopped(signal);
    const { consistency, partial } = stream;
    await this.#commit(prepared, name, { consistency, partial }, events);
    return { rows: prepared.rows, bytes: prepared.bytes, path: prepared.path, consistency, steps: stream.steps };
  }

  /** Removes what was not published. */
  async close(): Promise<void> {
    if (!this.#committed) await this.sink.abort();
  }

  async #write(page: Page, written: WrittenColumns, key: readonly string[]): Promise<void> {
    await this.#begin(written);
    this.#pages += 1;
    await this.sink.write(page).catch((failure: unknown) => {
      throw namingRow(failure, () => ({ key, columns: written.columns }));
    });
  }

  /** Called with the first page, or at the end of a stream without pages. */
  async #begin({ columns }: WrittenColumns): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    await this.sink.begin(columns);
  }

  async #commit(
    prepared: PreparedOutput,
    name: string,
    { consistency, partial }: Pick<OpenedStream<unknown>, 'consistency' | 'partial'>,
    events: Events,
  ): Promise<void> {
    const facts = {
      ...{ pipeline: name, fingerprint: '', collection: name, pages: this.#pages, startedAt: this.#startedAt },
      ...{ consistency: consistency?.outcome ?? 'off', books: {}, partial },
    };
    const { path } = prepared;
    const commit = { outputs: path === undefined ? [] : [path], actions: await prepared.actions(facts) };
    refuseStopped(this.options.signal);
    await events.during(
      'commit',
      () => ({ outputs: commit.outputs, actions: commit.actions.length }),
      async () => {
        await prepared.commit?.(partial);
        await commitUnlogged(commit);
      },
    );
    this.#committed = true;
    await prepared.cleanup();
  }
}

const taken = object({ columns: givenColumns, name: text, signal: abortSignal, watch: judged(watchersProblem) });

/** Sinks that were already used: a second use would undo what the first one published. */
const used = new WeakSet<object>();

/**
 * Claims a sink for a single use.
 *
 * @throws {SinkError} `E_SINK_CONFIG` if it is not a sink, or was already used. If it could not be opened, that error.
 */
async function claimSink(sink: unknown): Promise<SinkWriter> {
  const opened = await unlessDry(Promise.resolve(sink), 'writeTo: the promise of the sink');
  if (!isSink(opened)) throw wrong(`the second argument must be a sink, like csv({ path }), not ${kindOf(opened)}`);
  if (used.has(opened)) throw wrong('this sink was already used; open another one for another stream');
  used.add(opened);
  return opened;
}

/** @throws {SinkError} `E_SINK_CONFIG` for an invalid stream, invalid options, and columns that the rows do not have. */
function checkWriting(rows: unknown, options: { readonly columns?: readonly Column[] | undefined }): void {
  const isStream = rows instanceof RowStream;
  if (!isStream && !isObservable(rows)) throw wrong(`the first argument must be a stream of rows, like service.leads, not ${kindOf(rows)}`);
  const [problem] = taken(options, '');
  if (problem !== undefined) throw wrong(`the third argument, like { columns: columnsOf(collections.leads) }: ${problem}`);
  const known = isStream ? rows.columns?.map(({ name }) => name) : undefined;
  if (options.columns === undefined) {
    if (known !== undefined) return;
    const why = isStream
      ? "they are unknown after foreign operators, and after mapRows and mapAsync without { columns: { id: 'text', … } }"
      : 'an observable of pages does not declare them; one of rows, like rows$, cannot be written: pass the stream itself, like service.leads';
    throw wrong(`name the columns of the rows, like { columns: columnsOf(collections.leads) }: ${why}`);
  }
  const absent = options.columns.find(({ name }) => known !== undefined && !known.includes(name));
  if (known !== undefined && absent !== undefined) throw wrong(`columns: ${unknownName('field', absent.name, known)}`);
}

/** Creates the error for invalid arguments of `writeTo`. */
function wrong(message: string): SinkError {
  return new SinkError('E_SINK_CONFIG', `writeTo: ${message}`);
}

function isSink(value: unknown): value is SinkWriter {
  return isRecord(value) && ['begin', 'write', 'prepare', 'abort'].every((name) => typeof value[name] === 'function');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Checks the pages of a stream against the written columns: none may be missing, and none is left out silently. */
class WrittenColumns {
  #columns: readonly Column[] | undefined;
  #names: ReadonlySet<string> = new Set();
  #begun = false;
  #looked = false;
  readonly #left = new Set<string>();

  /**
   * @param declared Columns named by the program; `undefined` to use those of the stream.
   * @param found Returns the columns of the stream as known after its first page.
   * @param warn Receives warnings.
   */
  constructor(
    private readonly declared: readonly Column[] | undefined,
    private readonly found: () => readonly Column[] | undefined,
    private readonly warn: (warning: Warning) => void,
  ) {}

  /** The columns, fixed by the first access. */
  get columns(): readonly Column[] {
    const columns = this.#columns ?? this.declared ?? this.found();
    if (columns === undefined) throw wrong('the columns of the rows are unknown');
    if (this.#columns === undefined) this.#names = new Set(columns.map(({ name }) => name));
    return (this.#columns = columns);
  }

  /**
   * Checks a page.
   *
   * @throws {SinkError} `E_SINK_CONFIG` if it is not a page, and for columns that the first rows lack; `E_SINK_FIELD` for a field without a column;
   * `E_SINK_VALUE` for values whose type differs from that of their column.
   */
  check(page: Page): void {
    if (!isPage(page)) throw wrong(`the stream emitted ${kindOf(page)}, which is not a page; pass service.leads or .pages$, not .rows$`);
    const { columns } = this;
    const isFirst = !this.#begun;
    this.#begun = true;
    const batch = batchOf(page);
    if (batch.length === 0) return;
    if (!this.#looked) this.#lookFor(columns, page, [...batch.columns.keys()]);
    this.#looked = true;
    const extra = [...batch.columns.keys()].filter((name) => !this.#names.has(name));
    if (this.declared !== undefined) return this.#tell(extra);
    if (extra.length > 0) throw unnamed(extra, page.number, isFirst);
    for (const { name, type } of columns) {
      const vector = batch.columns.get(name);
      if (type === 'text' && vector) refuseNoText(name, firstOtherThanText(vector), page.number);
    }
  }

  #lookFor(columns: readonly Column[], { number }: Page, fields: readonly string[]): void {
    const absent = columns.map(({ name }) => name).filter((name) => !fields.includes(name));
    if (absent.length > 0) {
      const which = `${absent.length} of ${columns.length} columns ${absent.length === 1 ? 'is' : 'are'} in no row of page ${number}: ${listed(absent)}`;
      throw wrong(`${which}; declare the columns of these rows, which have ${listed(fields)}`);
    }
  }

  /** Warns once about each field that is left out, on whatever page it first appears. */
  #tell(extra: readonly string[]): void {
    const left = extra.filter((name) => !this.#left.has(name));
    if (left.length === 0) return;
    for (const name of left) this.#left.add(name);
    this.warn({
      code: 'W_SINK_COLUMN',
      message: `writeTo: columns does not name ${listed(left)}, so ${left.length === 1 ? 'it is' : 'they are'} left out`,
    });
  }
}

/** @param isFirst Whether this is the first page. If so, the field comes from a program: a field of the service would have a column. */
function unnamed(names: readonly string[], page: number, isFirst: boolean): SinkError {
  const which = `${names.length === 1 ? 'the field' : 'the fields'} ${listed(names)}, which ${names.length === 1 ? 'has' : 'have'} no column`;
  const why = isFirst
    ? '; declare it in the columns of the stream, as with fromPages, or leave it out with select'
    : ', because page 1 did not have it';
  return new SinkError('E_SINK_FIELD', `writeTo: rows of page ${page} have ${which}${why}`);
}

function refuseNoText(name: string, strange: Value | undefined, page: number): void {
  const kind = strange instanceof Date ? 'timestamp' : typesBy[typeof strange];
  // Values that no column can hold are refused by the sink.
  if (kind === undefined) return;
  const what = `field ${name} has a value of type ${kind} on page ${page}, but its column has type text`;
  throw new SinkError(
    'E_SINK_VALUE',
    `writeTo: ${what}; declare the type where the field is made, like derive({ ${name}: { type: '${kind}', of: … } })`,
  );
}

/** The types of values by their `typeof`. */
const typesBy: Readonly<Record<string, 'flag' | 'integer' | 'decimal' | undefined>> = {
  boolean: 'flag',
  bigint: 'integer',
  number: 'decimal',
};

function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ');
}
