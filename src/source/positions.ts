import { catchError, type Observable } from 'rxjs';
import type { RecordBatch } from '../vector/index.js';
import { task, type Ask } from '../flow/index.js';
import { noRows } from './failures.js';
import type { PagedList } from './paging.js';

/** A list that has rows beyond has them everywhere. */
const maxRows = 2 ** 40;

/** The rows of a list by their positions, counted from 0: pages of one row, where the service makes them. */
export class Positions {
  #honoured: boolean | undefined;

  /** @param namesOf What the rows of a page are told apart by, in order. */
  constructor(
    private readonly list: PagedList,
    private readonly namesOf: (batch: RecordBatch) => readonly string[],
  ) {}

  /** Whether a page of one row can be asked for; asked until there was a row. */
  async areHonoured(ask: Ask): Promise<boolean> {
    if (this.#honoured !== undefined) return this.#honoured;
    const rows = await this.at(ask, 0);
    // Where there is no row, there is no telling.
    if (rows.length > 0) this.#honoured = rows.length === 1;
    return rows.length === 1;
  }

  /** The names of the rows that come for a position: one, or none behind the end. */
  async at(ask: Ask, position: number): Promise<readonly string[]> {
    const { batch } = await ask(this.list.row(position).pipe(catchError(noRows)));
    return this.namesOf(batch);
  }

  /**
   * The number of rows that the list has now, by looking which positions have one; `undefined` when it cannot be counted so.
   *
   * @param guess Where to begin.
   */
  count(guess: number): Observable<number | undefined> {
    return task(async (ask) => {
      if (!(await this.areHonoured(ask)) || this.list.repeated !== undefined) return undefined;
      const has = async (position: number) => (await this.at(ask, position)).length > 0;
      let below = -1;
      let above = guess;
      for (let step = 1; await has(above); step *= 2) {
        if (above > maxRows) return Infinity;
        below = above;
        above += step;
      }
      for (let step = 1; above - below > 1 && below < guess - 1; step *= 2) {
        const position = Math.max(below + 1, above - step);
        if (await has(position)) {
          below = position;
          break;
        }
        above = position;
      }
      while (above - below > 1) {
        const middle = Math.floor((below + above) / 2);
        if (await has(middle)) below = middle;
        else above = middle;
      }
      return above;
    });
  }
}
