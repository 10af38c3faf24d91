import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Observable, Subscription } from 'rxjs';
import { lineOf } from './json-line.js';
import { keep } from './lease.js';
import { rowsOf, type Page } from './page.js';

/** The form in which a Node or web stream emits rows: `objects`, or bytes with a line of JSON for each row. */
export type RowFormat = 'objects' | 'ndjson';

/** How a stream ended. */
type End = { readonly error?: unknown };

type Result<T> = IteratorResult<T, undefined>;

const done = { done: true, value: undefined } as const;

/**
 * Iterates over the pages of a stream: a page is released when the next one is requested. It subscribes on the first request. `return`
 * unsubscribes immediately, even while waiting for a page.
 */
class PageIterator<T> implements AsyncIterator<Page<T>, undefined> {
  readonly #arrived: Page<T>[] = [];
  #held: Page<T> | undefined;
  #end: End | undefined;
  #subscription: Subscription | undefined;
  #wake = () => {};

  constructor(private readonly pages$: Observable<Page<T>>) {}

  async next(): Promise<Result<Page<T>>> {
    this.#release();
    if (this.#end === undefined) this.#subscription ??= this.#subscribe();
    for (;;) {
      const page = this.#arrived.shift();
      if (page) {
        this.#held = page;
        return { done: false, value: page };
      }
      if (this.#end) return this.#ended(this.#end);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  return(): Promise<Result<Page<T>>> {
    this.#finish({});
    this.#subscription?.unsubscribe();
    this.#release();
    for (const page of this.#arrived.splice(0)) page.lease.release();
    return Promise.resolve(done);
  }

  #subscribe(): Subscription {
    return this.pages$.subscribe({
      next: (page) => {
        keep(page);
        this.#arrived.push(page);
        this.#wake();
      },
      error: (error: unknown) => this.#finish({ error }),
      complete: () => this.#finish({}),
    });
  }

  #finish(end: End): void {
    this.#end ??= end;
    this.#wake();
  }

  /** Throws an error once, as a generator does. */
  #ended(end: End): Result<Page<T>> {
    this.#end = {};
    if ('error' in end) throw end.error;
    return done;
  }

  #release(): void {
    this.#held?.lease.release();
    this.#held = undefined;
  }
}

/** Iterates over the items of each page, at the consumer's pace. */
class ItemIterator<T, I> implements AsyncIterableIterator<I, undefined> {
  readonly #pages: PageIterator<T>;
  #items: readonly I[] = [];
  #next = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    pages$: Observable<Page<T>>,
    private readonly itemsOf: (page: Page<T>) => readonly I[],
  ) {
    this.#pages = new PageIterator(pages$);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Concurrent calls take turns, as with a generator. */
  next(): Promise<Result<I>> {
    if (this.#waiting === 0 && this.#next < this.#items.length) return Promise.resolve(this.#given());
    this.#waiting += 1;
    const turn = this.#turn.then(() => this.#take()).finally(() => (this.#waiting -= 1));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async return(): Promise<Result<I>> {
    this.#items = [];
    await this.#pages.return();
    return done;
  }

  async #take(): Promise<Result<I>> {
    while (this.#next >= this.#items.length) {
      const { value: page } = await this.#pages.next();
      if (page === undefined) return done;
      this.#items = await this.#itemsOf(page);
      this.#next = 0;
    }
    return this.#given();
  }

  /** Ends the read before throwing if a page cannot be converted, since there will be no further request. */
  async #itemsOf(page: Page<T>): Promise<readonly I[]> {
    try {
      return this.itemsOf(page);
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  #given(): Result<I> {
    const value = this.#items[this.#next] as I;
    this.#next += 1;
    return { done: false, value };
  }
}

/**
 * Iterates over the rows of a stream of pages, at the consumer's pace. A page is released when the row after its last one is requested, so
 * the source is never further ahead than its window. Leaving the loop unsubscribes the stream, which aborts its requests. An error is
 * thrown after the rows before it.
 */
export function iterate<T>(pages$: Observable<Page<T>>): AsyncIterableIterator<T, undefined> {
  return new ItemIterator(pages$, rowsOf);
}

/**
 * Returns the rows of a stream of pages as a Node stream with backpressure: the slower it is read, the slower the source is read.
 * Destroying it unsubscribes.
 */
export function toReadable(pages$: Observable<Page<unknown>>, format: RowFormat): Readable {
  return Readable.from(itemsIn(pages$, format), { objectMode: format === 'objects' });
}

/** Returns the rows as a web stream, which reads nothing ahead. Cancelling it unsubscribes. */
export function toWeb(pages$: Observable<Page<unknown>>, format: RowFormat): ReadableStream<unknown> {
  const items = itemsIn(pages$, format);
  return new globalThis.ReadableStream<unknown>(
    {
      async pull(controller) {
        const { done: ended, value } = await items.next();
        if (ended === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await items.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

function itemsIn(pages$: Observable<Page<unknown>>, format: RowFormat): AsyncIterableIterator<unknown, undefined> {
  return format === 'objects' ? iterate(pages$) : new ItemIterator(pages$, linesOf);
}

/** Returns one text per page: a chunk for each row would cost more than the row. */
function linesOf({ number, rows }: Page<unknown>): readonly Uint8Array[] {
  return rows.length === 0
    ? []
    : [new TextEncoder().encode(rows.map((row, index) => lineOf(row, `page ${number}: row ${index + 1}`)).join(''))];
}
