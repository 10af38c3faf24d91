import { Readable } from 'node:stream';
import type { Observable, Subscription } from 'rxjs';
import { StepError } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { keep } from './lease.js';
import { rowsOf, type Page } from './page.js';

/** The form in which a Node stream emits rows: `objects`, or bytes with a line of JSON per row. */
export type RowFormat = 'objects' | 'ndjson';

/** Returns the rows of a stream of pages as a Node stream with backpressure. Destroying it unsubscribes. */
export function toReadable(pages$: Observable<Page<unknown>>, format: RowFormat): Readable {
  const items: AsyncIterable<unknown> = iterate<unknown, unknown>(pages$, format === 'objects' ? rowsOf : linesOf);
  return Readable.from(items, { objectMode: format === 'objects' });
}

/** Iterates over items at the consumer's pace. Leaving the loop unsubscribes, even while a page is awaited. Errors follow earlier items. */
export function iterate<T, I>(pages$: Observable<Page<T>>, itemsOf: (page: Page<T>) => readonly I[]): AsyncIterableIterator<I, undefined> {
  const pages = new PageQueue(pages$);
  const items = (async function* (): AsyncGenerator<I, undefined> {
    try {
      for (let page = await pages.next(); page !== undefined; page = await pages.next()) for (const item of itemsOf(page)) yield item;
    } finally {
      pages.leave();
    }
  })();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => items.next(),
    return: () => {
      pages.leave();
      return items.return(undefined);
    },
  };
}

/** The pages of a stream, each released when the next one is requested. It subscribes on the first request. */
class PageQueue<T> {
  readonly #arrived: Page<T>[] = [];
  #held: Page<T> | undefined;
  #end: { readonly error?: unknown } | undefined;
  #subscription: Subscription | undefined;
  #wake = () => {};

  constructor(private readonly pages$: Observable<Page<T>>) {}

  /** Resolves with the next page, or `undefined` at the end. Rejects with the error of the stream, after the pages before it. */
  async next(): Promise<Page<T> | undefined> {
    this.#release();
    if (this.#end === undefined) this.#subscription ??= this.#subscribe();
    while (this.#arrived.length === 0 && this.#end === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#held = this.#arrived.shift();
    if (this.#held === undefined && this.#end && 'error' in this.#end) throw this.#end.error;
    return this.#held;
  }

  leave(): void {
    this.#finish({});
    this.#subscription?.unsubscribe();
    this.#release();
    for (const page of this.#arrived.splice(0)) page.lease.release();
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

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#wake();
  }

  #release(): void {
    this.#held?.lease.release();
    this.#held = undefined;
  }
}

/** Returns a text per page: a chunk per row would cost more than the row. */
function linesOf({ number, rows }: Page<unknown>): readonly Uint8Array[] {
  if (rows.length === 0) return [];
  return [new TextEncoder().encode(rows.map((row, index) => `${jsonOf(row, `page ${number}: row ${index + 1}`)}\n`).join(''))];
}

/** Whole numbers keep all digits at any depth. An `undefined` field is left out, an `undefined` item becomes `null`. */
function jsonOf(value: unknown, at: string): string {
  if (typeof value === 'bigint') return String(value);
  if (isLost(value)) throw new StepError('E_STEP_VALUE', `${at} is ${kindOf(value)}, which JSON would lose; convert it with mapRows`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const toJson: unknown = Reflect.get(value, 'toJSON');
  if (typeof toJson === 'function') return jsonOf(Reflect.apply(toJson, value, []), at);
  if (Array.isArray(value)) return `[${Array.from(value, (item: unknown, index) => jsonOf(item ?? null, `${at}[${index}]`)).join()}]`;
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${jsonOf(each, `${at}, ${name}`)}`).join()}}`;
}

function isLost(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return ['undefined', 'function', 'symbol'].includes(typeof value) || [Map, Set, Promise].some((type) => value instanceof type);
}
