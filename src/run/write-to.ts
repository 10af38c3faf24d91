import { isObservable, type Observable } from 'rxjs';
import { createRedactor, itemAt, newRunId, reasonOf, SinkError, unknownName, warnProcess } from '../core/index.js';
import type { Column, Consistency, MergeCounts, Value, Warning } from '../core/index.js';
import { Events, watchersProblem, type Watchers } from '../events/index.js';
import { batchOf, deliver, fromPages, givenColumns, RowStream, unlessDry } from '../flow/index.js';
import type { CountedStep, Page, Side } from '../flow/index.js';
import { abortSignal, judged, kindOf, object, anyText } from '../options/index.js';
import type { SinkWriter } from '../sinks/index.js';
import { firstOtherThanText } from '../vector/index.js';
import { Outputs } from './outputs.js';
import { publish } from './publish.js';
import { completed, refuseStopped } from './stop.js';

/** The options of `writeTo`. */
export interface WriteOptions {
  /**
   * The columns of the rows, in output order. Default: those of the stream, and undeclared fields of the first page as texts. Required for
   * an observable of pages, and after functions and operators that do not name theirs. Other fields are left out with a warning.
   */
  readonly columns?: readonly Column[] | undefined;
  /** Name in a manifest. Default `writeTo`. */
  readonly name?: string | undefined;
  /** Stops it; nothing is published. */
  readonly signal?: AbortSignal | undefined;
  /** Receives events of the writing, and warnings of the steps; `connect` has a `watch` for reading. Default: only subscribers do. */
  readonly watch?: Watchers | undefined;
}

/** What was published. */
export interface Written {
  readonly rows: number;
  readonly bytes: number;
  /** What a merge did to the rows of the output; `undefined` for other modes. */
  readonly merged: MergeCounts | undefined;
  /** Its path; `undefined` for stdout. */
  readonly path: string | undefined;
  /** The result of the list's consistency check; `undefined` if unknown, as for an observable of pages. */
  readonly consistency: Consistency | undefined;
  /** What the steps did with the rows, as in `RowStream.steps`; empty for an observable of pages. */
  readonly steps: readonly CountedStep[];
}

/**
 * Writes a stream to a sink and publishes it at the end of the stream. If either fails, what was published before stays, and nothing else
 * remains. Only one writer at a time, in any process, may work on a destination. Collections and the other sides of joins are read with
 * `consistency: 'repair'`, unless `connect` or `with` say otherwise; pages from `pages$` with `check`.
 *
 * @param rows Rows with their columns, or an observable of pages.
 * @param sink Opened for this stream alone, or a promise for it.
 * @throws The error of the stream, `SinkError`, `E_RUN_LOCKED`, `E_RUN_ABORTED` after `signal`, or `E_RUN_STALLED` if the stream or the
 * sink can never end. `E_SINK_CONFIG` for invalid arguments, and for columns that the rows lack; `E_SINK_FIELD` for an undeclared field
 * after the first page.
 *
 * @example
 * const { rows } = await writeTo(service.leads.pipe(select(['lead_id', 'timestamp'])), parquet({ path: 'lake/leads' }));
 */
export async function writeTo<T>(rows: Side<T>, sink: SinkWriter | PromiseLike<SinkWriter>, options: WriteOptions = {}): Promise<Written> {
  const writer = await claimSink(sink);
  let isCommitted = false;
  const written = async (given: RowStream<T>): Promise<Written> => {
    const { name = 'writeTo', signal, watch } = options;
    const startedAt = new Date().toISOString();
    const events = new Events(newRunId(startedAt), createRedactor([]), watch);
    const hear = (warning: Warning, isPublished: boolean) => events.warn(warning, !isPublished);
    const stream = RowStream.opened(given, { purpose: 'writing', hear });
    const warn = (warning: Warning) => {
      if (!events.warn(warning)) warnProcess(warning);
    };
    const checked = new WrittenColumns(options.columns, () => stream.columns(), warn);
    const outputs = new Outputs([{ at: name, writer }], { key: stream.key, columns: () => checked.columns, events });
    let pages = 0;
    const write = async (page: Page) => {
      pages += 1;
      checked.check(page);
      await outputs.write(page);
    };
    await completed((stream.pages$ as Observable<unknown> as Observable<Page>).pipe(deliver(write)), signal);
    refuseStopped(signal);
    await outputs.begin();
    const ready = await outputs.prepare();
    const { prepared } = itemAt(ready, 0);
    refuseStopped(signal);
    const { consistency, partial, steps } = stream;
    const { rows: count, bytes, path, merged } = prepared;
    const facts = { pipeline: name, fingerprint: '', collection: name, pages, startedAt, books: {}, partial };
    const actions = await prepared.actions({ ...facts, consistency: consistency?.outcome ?? 'off' });
    refuseStopped(signal);
    const nonFatal = (failure: unknown) => warn({ code: 'W_SINK_TIDY', message: `cleanup failed: ${reasonOf(failure)}` });
    const commit = { outputs: path === undefined ? [] : [path], actions };
    await publish({ outputs: ready, commit, partial, events, nonFatal });
    isCommitted = true;
    return { rows: count, bytes, merged, path, consistency, steps };
  };
  try {
    const second = await unlessDry(Promise.resolve<unknown>(options), 'writeTo: the promise of the third argument');
    if (isSink(second)) {
      // It would be left out, and stay locked.
      if (!used.has(second)) await second.abort();
      throw wrong('it writes to one sink; call it once for each, or list several under to in a pipeline file');
    }
    checkWriting(rows, options);
    // The stream and the sink's functions report more specific errors, so these come first.
    return await unlessDry(written(rows instanceof RowStream ? rows : fromPages(rows)), 'writeTo: the stream of rows or the sink', 'ends');
  } finally {
    if (!isCommitted) await writer.abort();
  }
}

const optionsCheck = object({ columns: givenColumns, name: anyText, signal: abortSignal, watch: judged(watchersProblem) });

/** Sinks that were used: a second use would undo what the first one published. */
const used = new WeakSet<object>();

async function claimSink(sink: unknown): Promise<SinkWriter> {
  const opened = await unlessDry(Promise.resolve(sink), 'writeTo: the promise of the sink');
  if (!isSink(opened)) throw wrong(`the second argument must be a sink, like csv({ path }), not ${kindOf(opened)}`);
  if (used.has(opened)) throw wrong('this sink was already used; open another one for another stream');
  used.add(opened);
  return opened;
}

function checkWriting(rows: unknown, options: WriteOptions): void {
  const isStream = rows instanceof RowStream;
  if (!isStream && !isObservable(rows)) throw wrong(`the first argument must be a stream of rows, like service.leads, not ${kindOf(rows)}`);
  const [problem] = optionsCheck(options, '');
  if (problem !== undefined) throw wrong(`the third argument, like { columns: columnsOf(collections.leads) }: ${problem}`);
  const known = isStream ? rows.columns?.map(({ name }) => name) : undefined;
  if (known === undefined && options.columns === undefined)
    throw wrong('the columns of these rows are unknown; name them, like { columns: columnsOf(collections.leads) }');
  const absent = options.columns?.find(({ name }) => known?.includes(name) === false);
  if (known !== undefined && absent !== undefined) throw wrong(`columns: ${unknownName('field', absent.name, known)}`);
}

function wrong(message: string): SinkError {
  return new SinkError('E_SINK_CONFIG', `writeTo: ${message}`);
}

function isSink(value: unknown): value is SinkWriter {
  return typeof value === 'object' && value !== null && ['begin', 'write', 'prepare', 'abort'].every((name) => name in value);
}

/** The written columns, against which pages are checked: no column may be missing, and no field is left out silently. */
class WrittenColumns {
  #columns: readonly Column[] | undefined;
  #hasRows = false;
  readonly #left = new Set<string>();

  /** @param found Returns the stream's columns after its first page, which are written unless the program declares others. */
  constructor(
    private readonly declared: readonly Column[] | undefined,
    private readonly found: () => readonly Column[] | undefined,
    private readonly warn: (warning: Warning) => void,
  ) {}

  get columns(): readonly Column[] {
    this.#columns ??= this.declared ?? this.found();
    if (this.#columns === undefined) throw wrong('the columns of the rows are unknown');
    return this.#columns;
  }

  /** Refuses columns that the first rows lack, fields without a column, and values of another type than their column's. */
  check(page: Page): void {
    const { columns } = this;
    const batch = batchOf(page);
    if (batch.length === 0) return;
    const fields = [...batch.columns.keys()];
    const names = columns.map(({ name }) => name);
    const absent = this.#hasRows ? [] : names.filter((name) => !fields.includes(name));
    this.#hasRows = true;
    if (absent.length > 0)
      throw wrong(`no row of page ${page.number} has ${listed(absent)}; declare the columns of these rows, which have ${listed(fields)}`);
    const extra = fields.filter((name) => !names.includes(name));
    if (this.declared !== undefined) {
      // Once per field, on any page.
      const left = extra.filter((name) => !this.#left.has(name));
      for (const name of left) this.#left.add(name);
      const message = `writeTo: columns does not name ${listed(left)}, so ${left.length === 1 ? 'it is' : 'they are'} left out`;
      if (left.length > 0) this.warn({ code: 'W_SINK_COLUMN', message });
      return;
    }
    if (extra.length > 0) throw new SinkError('E_SINK_FIELD', `writeTo: rows of page ${page.number} have no column for ${listed(extra)}`);
    for (const { name, type } of columns) {
      const vector = batch.columns.get(name);
      if (type === 'text' && vector) refuseNoText(name, firstOtherThanText(vector), page.number);
    }
  }
}

function refuseNoText(name: string, strange: Value | undefined, page: number): void {
  // The sink refuses values that no column can hold.
  if (!(strange instanceof Date) && !['boolean', 'bigint', 'number'].includes(typeof strange)) return;
  const what = `field ${name} has ${kindOf(strange)} on page ${page}, but its column has type text`;
  throw new SinkError('E_SINK_VALUE', `writeTo: ${what}; declare the type where the field is made, as in derive`);
}

function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ');
}
