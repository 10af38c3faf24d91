import type { Observable } from 'rxjs';
import type { Column, Row } from '../collections/index.js';
import { publish } from '../files/index.js';
import { deliver, type Page } from '../flow/index.js';
import type { SinkWriter } from '../sinks/index.js';
import { completed } from './completed.js';

/** What landing a stream takes besides stream and sink. */
export interface LandOptions {
  /** The columns of the rows, in output order; `columnsOf(collections.leads)` for untouched leads. */
  readonly columns: readonly Column[];
  /** Name that a manifest gives to what was landed. Default `land`. */
  readonly name?: string;
  /** Stops it; nothing is published. */
  readonly signal?: AbortSignal;
}

/** What was published, in rows and bytes. */
export interface Landed {
  readonly rows: number;
  readonly bytes: number;
  /** Where it is; absent for stdout. */
  readonly path: string | undefined;
}

/**
 * Writes a stream of pages of your own to a sink and publishes it when the stream has completed. When the stream or the sink
 * fails, what the sink had published before stays, and nothing else is left. One writer at a time may work on a destination.
 *
 * @throws The error of the stream, `SinkError`, or `E_RUN_ABORTED` after `signal`.
 *
 * @example
 * await land(service.users$, await csv({ path: 'users.csv' }), { columns: columnsOf(collections.users) });
 */
export async function land<T extends Row>(pages$: Observable<Page<T>>, sink: SinkWriter, options: LandOptions): Promise<Landed> {
  const { columns, name = 'land', signal } = options;
  const startedAt = new Date().toISOString();
  let pages = 0;
  let published = false;
  try {
    await sink.begin(columns);
    const write = (page: Page<T>) => {
      pages += 1;
      return sink.write(page);
    };
    await completed(pages$.pipe(deliver(write)), signal);
    const staged = await sink.finish();
    const facts = { pipeline: name, fingerprint: '', collection: name, pages, startedAt, consistency: 'off', books: {} };
    await publish(await staged.publication(facts));
    published = true;
    await staged.settle();
    return { rows: staged.rows, bytes: staged.bytes, path: staged.path };
  } finally {
    if (!published) await sink.abort();
  }
}
