import { isBatchPage, pageOf, withRows, type Lease, type Page } from './page.js';

/** Pages that stay in memory regardless of consumers do not use a window. */
const lease: Lease = { release: () => {} };

/**
 * A page for several readers that cannot affect each other. Rows of a program are copied on arrival, and frozen, including their lists and
 * plain objects; instances of classes are shared.
 */
export class SharedPage<T> {
  readonly #page: Page<T>;
  readonly #dates: boolean;

  constructor(page: Page<T>) {
    const copy = new FrozenCopy();
    this.#page = isBatchPage(page)
      ? page
      : withRows(
          page,
          page.rows.map((row) => copy.of(row)),
        );
    this.#dates = copy.hasDates;
  }

  /** Returns the page for one reader. Dates cannot be frozen, so each reader gets its own. */
  forReader(): Page<T> {
    const page = this.#page;
    if (isBatchPage(page)) return pageOf(page.number, page.batch, lease);
    const copy = new FrozenCopy();
    return { number: page.number, rows: this.#dates ? page.rows.map((row) => copy.of(row)) : page.rows, lease };
  }
}

/** Copies and freezes values of a program. */
class FrozenCopy {
  hasDates = false;

  of<V>(value: V): V {
    return this.#of(value, new Map()) as V;
  }

  /**
   * @param known Copies by original: objects may refer to each other.
   */
  #of(value: unknown, known: Map<object, object>): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const copy = known.get(value) ?? this.#shallow(value);
    if (copy === undefined) return value;
    if (known.has(value) || copy instanceof Date) return copy;
    known.set(value, copy);
    for (const [name, each] of Object.entries(copy)) {
      if (typeof each !== 'object' || each === null) continue;
      Object.defineProperty(copy, name, { value: this.#of(each, known) });
    }
    return Object.freeze(copy);
  }

  /** Returns a shallow copy; `undefined` for what cannot be copied. */
  #shallow(value: object): object | undefined {
    if (value instanceof Date) {
      this.hasDates = true;
      return new Date(value);
    }
    if (Array.isArray(value)) return [...(value as readonly unknown[])];
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null) return Object.setPrototypeOf({ ...value }, null) as object;
    return prototype === Object.prototype ? { ...value } : undefined;
  }
}
