import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Observable, Subscription } from 'rxjs';
import { lineOf } from './json-line.js';
import { keep } from './lease.js';
import { rowsOf, type Page } from './page.js';

/** In which form a stream of Node or of the web gives rows: as `objects`, or as bytes with a line of JSON for each row. */
export type RowFormat = 'objects' | 'ndjson';

/** How a stream has ended. */
type End = { readonly error?: unknown };

type Result<T> = IteratorResult<T, undefined>;

const done = { done: true, value: undefined } as const;

/**
 * The pages of a stream, one at a time: a page is released when the one after it is asked for. Nothing is asked for before the first one is.
 * `return` unsubscribes at once, also while a page is waited for.
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

  /** An error is told once, as by a generator. */
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

/** What is made of each page, item by item, at the pace of whoever asks. */
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

  /** Calls that do not wait for each other have their turns, as with a generator. */
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

  /** A page that cannot be given ends the read, before its error goes on: nobody asks again. */
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
 * The rows of a stream of pages, at the pace of whoever asks for them: a page is released when the row after its last one is asked for, so the
 * source is never further ahead than its window. Leaving the loop unsubscribes the stream, which aborts its requests. An error comes behind the
 * rows before it.
 */
export function iterate<T>(pages$: Observable<Page<T>>): AsyncIterableIterator<T, undefined> {
  return new ItemIterator(pages$, rowsOf);
}

/** The rows of a stream of pages as a stream of Node: the slower it is read, the slower the source is asked. Destroying it unsubscribes. */
export function toReadable(pages$: Observable<Page<unknown>>, format: RowFormat): Readable {
  return Readable.from(itemsIn(pages$, format), { objectMode: format === 'objects' });
}

/** The same as a stream of the web, which reads nothing ahead. Cancelling it unsubscribes. */
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

/** One text for each page: a chunk for each row would cost more than the row. */
function linesOf({ number, rows }: Page<unknown>): readonly Uint8Array[] {
  return rows.length === 0
    ? []
    : [new TextEncoder().encode(rows.map((row, index) => lineOf(row, `page ${number}: row ${index + 1}`)).join(''))];
}
