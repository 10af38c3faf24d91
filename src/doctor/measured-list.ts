import type { Asked } from './asked.js';
import type { Subject } from './lists.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** A list whose pages can be located. */
export interface MeasuredList extends Subject {
  /** Reads the page at a distance from the first. In a list without page numbers, each page but the first is the second. */
  page(distance: number, limit: number): Promise<Reply>;
}

/** A list with page numbers. */
export class NumberedList implements MeasuredList {
  readonly collection: Subject['collection'];
  readonly path: string;

  constructor(
    private readonly asking: Requester,
    { collection, path }: Subject,
    readonly firstPage: 0 | 1,
  ) {
    this.collection = collection;
    this.path = path;
  }

  page(distance: number, limit: number): Promise<Reply> {
    const { collection, path, firstPage } = this;
    return this.asking.ask({ collection, path, page: firstPage + distance, limit });
  }
}

/** A list in which each page names the next one. */
export class SequentialList implements MeasuredList {
  readonly collection: Subject['collection'];
  readonly path: string;
  /** The latest first page, by its size. */
  readonly #first = new Map<number, Reply>();

  constructor(
    private readonly asking: Requester,
    { collection, path }: Subject,
  ) {
    this.collection = collection;
    this.path = path;
  }

  async page(distance: number, limit: number): Promise<Reply> {
    if (distance === 0) return this.#ask({ limit });
    const first = this.#first.get(limit) ?? (await this.#ask({ limit }));
    return (await this.after(first, limit)) ?? { ...first, records: [] };
  }

  /** Reads the page that a page names as the next; returns nothing if it names none. */
  async after({ next }: Reply, limit: number): Promise<Reply | undefined> {
    return next && this.#ask({ limit, position: next });
  }

  async #ask(asked: Pick<Asked, 'limit' | 'position'> & { readonly limit: number }): Promise<Reply> {
    const { collection, path } = this;
    const reply = await this.asking.ask({ collection, path, ...asked });
    if (asked.position === undefined) this.#first.set(asked.limit, reply);
    return reply;
  }
}
