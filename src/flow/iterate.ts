import { Readable } from 'node:stream';
import type { Observable } from 'rxjs';
import { keep } from './lease.js';
import type { Page } from './page.js';

/**
 * The rows of a stream of pages, at the pace of whoever asks for them: a page is released when the row after its last one is asked for, so the
 * source is never further ahead than its window. Leaving the loop unsubscribes the stream, which aborts its requests. An error comes behind the
 * rows before it.
 *
 * @throws The error of the stream.
 *
 * @example
 * for await (const lead of iterate(service.leads$)) await store(lead);
 */
export async function* iterate<T>(pages$: Observable<Page<T>>): AsyncGenerator<T, void, undefined> {
  for await (const { rows } of pagesOf(pages$)) yield* rows;
}

/**
 * The rows of a stream of pages as a stream of Node: the slower it is read, the slower the source is asked. Destroying it unsubscribes.
 *
 * @param format `objects` for a stream in object mode (default), `ndjson` for one of bytes, a line of JSON for each row.
 *
 * @example
 * await pipeline(toReadable(service.leads$, 'ndjson'), response); // a client that leaves ends the requests
 */
export function toReadable(pages$: Observable<Page<unknown>>, format: 'objects' | 'ndjson' = 'objects'): Readable {
  if (format === 'objects') return Readable.from(iterate(pages$), { objectMode: true });
  return Readable.from(linesOf(pages$), { objectMode: false });
}

/** One text for each page: a chunk for each row would cost more than the row. */
async function* linesOf(pages$: Observable<Page<unknown>>): AsyncGenerator<string, void, undefined> {
  for await (const { rows } of pagesOf(pages$)) {
    if (rows.length > 0) yield rows.map(lineOf).join('');
  }
}

/** A row as JSON: whole numbers with all their digits, like those of the sink `ndjson`. */
function lineOf(row: unknown): string {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return `${JSON.stringify(row)}\n`;
  const members = Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [`${JSON.stringify(name)}:${jsonOf(value)}`]));
  return `{${members.join(',')}}\n`;
}

function jsonOf(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

async function* pagesOf<T>(pages$: Observable<Page<T>>): AsyncGenerator<Page<T>, void, undefined> {
  const arrived: Page<T>[] = [];
  let ended: { readonly error?: unknown } | undefined;
  let wake = () => {};
  const end = (how: { readonly error?: unknown }) => {
    ended = how;
    wake();
  };
  const subscription = pages$.subscribe({
    next: (page) => {
      keep(page);
      arrived.push(page);
      wake();
    },
    error: (error: unknown) => end({ error }),
    complete: () => end({}),
  });
  try {
    for (;;) {
      const page = arrived.shift();
      if (page) {
        yield page;
        page.lease.release();
      } else if (ended) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    subscription.unsubscribe();
  }
  if (ended && 'error' in ended) throw ended.error;
}
