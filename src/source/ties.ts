import type { Collection, Served } from '../collections/index.js';
import { itemAt } from '../core/index.js';
import { batchOf, type Ask, type Page } from '../flow/index.js';
import type { RecordBatch } from '../vector/index.js';
import { positionAt } from './fetch/request.js';
import { refused } from './paging.js';
import type { Reading } from './seen-rows.js';

/** Returns the ties of a list that continues after a field of the last row, unless that field is its key. */
export function tiesOf({ key, served }: Collection): Ties | undefined {
  if (served?.paging.scheme !== 'cursor' || served.paging.last === undefined) return undefined;
  const { last } = served.paging;
  return key.length === 1 && key[0] === last ? undefined : new Ties(served, last);
}

/**
 * The borders between pages of a list that continues after a field of the last row. Rows with the same value as that row are left out at
 * a border, unless the service repeats them; nothing else shows that there are any.
 */
export class Ties {
  readonly #borders: { readonly number: number; readonly before: string | undefined; readonly value: string }[] = [];
  /** The value of the last row, and the last other one before it. */
  #value: string | undefined;
  #before: string | undefined;

  constructor(
    private readonly served: Served,
    readonly field: string,
  ) {}

  take(page: Page): void {
    for (const value of this.#valuesOf(batchOf(page))) if (value !== this.#value) [this.#before, this.#value] = [this.#value, value];
    if (this.#value !== undefined) this.#borders.push({ number: page.number, before: this.#before, value: this.#value });
  }

  /** Requests what follows the last different value before each border. @throws {SourceError} `E_SOURCE_CURSOR` for rows left out. */
  async check(ask: Ask, reading: Reading): Promise<void> {
    const { reader, seen, progress, consistency } = reading;
    const [path] = reader.collection.paths;
    for (const { number, before, value } of this.#borders) {
      const position = positionAt(this.served, path, reader.limit, before);
      const { batch } = await ask(reader.request({ page: number, position, purpose: 'probe' }));
      consistency.probes += 1;
      const [values, names] = [this.#valuesOf(batch), reading.namesOf(batch)];
      const isOne = batch.length > 1 && batch.length >= progress.largest && values.every((each) => each === value);
      if (!isOne && values.every((each, row) => each !== value || seen?.inThisPass(itemAt(names, row)))) continue;
      const what = isOne ? 'a whole page has the same' : 'rows were left out that have the same';
      throw refused(reader, 'E_SOURCE_CURSOR', `page ${number} cannot be continued after its last row: ${what} ${this.field}`);
    }
  }

  #valuesOf(batch: RecordBatch): readonly (string | undefined)[] {
    const values = batch.columns.get(this.field);
    return Array.from({ length: batch.length }, (_, row) => values?.value(row)?.toString());
  }
}
