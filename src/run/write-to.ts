import { type Observable } from 'rxjs';
import { createRedactor, newRunId, warnProcess, type Column, type Consistency, type Warning } from '../core/index.js';
import { Events, type Watchers } from '../events/index.js';
import { commitUnlogged } from '../store/index.js';
import {
  countOf,
  deliver,
  fromPages,
  namingRow,
  RowStream,
  unlessDry,
  type CountedStep,
  type OpenedStream,
  type Page,
  type Side,
} from '../flow/index.js';
import type { PreparedOutput, SinkWriter } from '../sinks/index.js';
import { completed, refuseStopped } from './stop.js';
import { checkWriting, claimSink } from './write-to-check.js';
import { WrittenColumns } from './written-columns.js';

/** The options of `writeTo`. */
export interface WriteOptions {
  /**
   * The columns of the rows, in output order. Default: those of the stream, plus undeclared fields in rows of the first page, as texts. They are required for
   * an observable of pages, after an operator that is not part of leadstream, and after a `mapRows`, `mapAsync` or `liftRows` without its own columns. Fields
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
    return await unlessDry(writing.run(stream), 'writeTo: what the sink does', 'ends');
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
