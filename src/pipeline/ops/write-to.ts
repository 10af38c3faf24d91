import { tap, type Observable } from 'rxjs';
import { createRedactor, newRunId, type Column, type Row } from '../../core/index.js';
import { Events, type Watchers } from '../../events/index.js';
import { commitUnlogged } from '../../store/index.js';
import { countOf, deliver, type Page } from '../../flow/index.js';
import type { SinkWriter } from '../../sinks/index.js';
import { completed } from '../run/completed.js';
import { checkColumns, checkWriting, checkPage, claimSink } from './write-to-check.js';

/** What writing a stream takes besides stream and sink. */
export interface WriteOptions {
  /** The columns of the rows, in output order; `columnsOf(collections.leads)` for untouched leads. */
  readonly columns: readonly Column[];
  /** Name that a manifest gives to what was written. Default `writeTo`. */
  readonly name?: string;
  /** Stops it; nothing is published. */
  readonly signal?: AbortSignal;
  /**
   * Receives what happens. Default: nobody but the subscribers of the channels. A warning names declared columns that the first rows
   * do not have (`W_SINK_COLUMN`); fewer than half of them are an error.
   */
  readonly watch?: Watchers | undefined;
}

/** What was published, in rows and bytes. */
export interface Written {
  readonly rows: number;
  readonly bytes: number;
  /** Where it is; absent for stdout. */
  readonly path: string | undefined;
}

/**
 * Writes a stream of pages of your own to a sink and publishes it when the stream has completed. When the stream or the sink
 * fails, what the sink had published before stays, and nothing else is left. One writer at a time may work on a destination.
 *
 * @param sink Opened for this stream alone.
 * @throws The error of the stream, `SinkError`, or `E_RUN_ABORTED` after `signal`. `E_SINK_CONFIG` for arguments that cannot be right, and
 * for columns of which the rows have fewer than half.
 *
 * @example
 * await writeTo(service.users$, await csv({ path: 'users.csv' }), { columns: columnsOf(collections.users) });
 */
export async function writeTo<T extends Row>(pages$: Observable<Page<T>>, sink: SinkWriter, options: WriteOptions): Promise<Written> {
  await claimSink(sink);
  const startedAt = new Date().toISOString();
  let pages = 0;
  let columnsChecked = false;
  let committed = false;
  try {
    checkWriting(pages$, options);
    const { columns, name = 'writeTo', signal, watch } = options;
    const events = new Events(newRunId(startedAt), createRedactor([]), watch);
    await sink.begin(columns);
    const write = (page: Page<T>) => {
      pages += 1;
      if (!columnsChecked && countOf(page) > 0) {
        columnsChecked = true;
        checkColumns(columns, page, (warning) => events.warn(warning));
      }
      return events.during(
        'write',
        () => ({ at: name, number: page.number, rows: countOf(page) }),
        () => sink.write(page),
      );
    };
    await completed(
      pages$.pipe(
        tap((page) => checkPage(page)),
        deliver(write),
      ),
      signal,
    );
    const prepared = await events.during(
      'finish',
      () => ({ at: name }),
      () => sink.prepare(),
      ({ rows, bytes }) => ({ rows, bytes }),
    );
    const { rows, bytes, path } = prepared;
    const facts = { pipeline: name, fingerprint: '', collection: name, pages, startedAt, consistency: 'off', books: {} };
    const commit = { outputs: path === undefined ? [] : [path], actions: await prepared.actions(facts) };
    await events.during(
      'commit',
      () => ({ outputs: commit.outputs, actions: commit.actions.length }),
      () => commitUnlogged(commit),
    );
    committed = true;
    await prepared.cleanup();
    return { rows, bytes, path };
  } finally {
    if (!committed) await sink.abort();
  }
}
