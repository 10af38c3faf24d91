import { map, catchError, type Observable } from 'rxjs';
import { digestOf } from '../vector/index.js';
import { type Ask, task } from '../flow/index.js';
import { noRows } from './paging.js';
import type { Pages } from './list.js';
import { maxProbes, type Reading, type Repeat } from './seen-rows.js';

/** Re-checks some places of a list after it was read. */
export class Probes {
  constructor(
    private readonly list: Pages,
    private readonly positions: Positions,
    private readonly reading: Reading,
  ) {}

  /** Compares some pages with what was read. */
  async pages(ask: Ask): Promise<void> {
    const { digests, consistency } = this.reading;
    const numbers = evenly([...digests.keys()], maxProbes);
    const digest$ = (number: number) => this.list.probe(number).pipe(map(({ batch }) => digestOf(this.reading.namesOf(batch))));
    const now = await Promise.all(numbers.map((number) => ask(digest$(number))));
    consistency.probes += numbers.length;
    numbers.forEach((number, index) => {
      if (now[index] !== digests.get(number)) this.reading.drift(`page ${number} has changed`);
    });
  }

  /**
   * @param repeats Repeated rows; only some of them are checked.
   * @returns How many were checked.
   */
  async repeats(ask: Ask, repeats: readonly Repeat[]): Promise<number> {
    const asked = evenly(repeats, maxProbes);
    for (const { first, position, name } of asked) {
      for (const place of [first, position]) {
        this.reading.consistency.probes += 1;
        const [now] = await this.positions.at(ask, place);
        if (now !== name) this.reading.drift(`row ${place + 1} had a repeated key, and is a different row now`);
      }
    }
    return asked.length;
  }
}

/** Returns at most `most` of the items, including the first and the last, evenly spaced. */
export function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}

/** A list with rows beyond this position has rows everywhere. */
const maxRows = 2 ** 40;

/** The rows of a list by position, counted from 0: pages of one row, if the service supports them. */
export class Positions {
  #honoured: boolean | undefined;

  constructor(
    private readonly list: Pages,
    private readonly reading: Reading,
  ) {}

  /** Returns whether pages of one row are supported; tries again until there is a row. */
  async areHonoured(ask: Ask): Promise<boolean> {
    if (this.#honoured !== undefined) return this.#honoured;
    const rows = await this.at(ask, 0);
    // Without a row it cannot be determined.
    if (rows.length > 0) this.#honoured = rows.length === 1;
    return rows.length === 1;
  }

  /** Returns the names of the rows at a position: one, or none after the end. */
  async at(ask: Ask, position: number): Promise<readonly string[]> {
    const { batch } = await ask(this.list.row(position).pipe(catchError(noRows)));
    return this.reading.namesOf(batch);
  }

  /**
   * Counts the current rows of the list by searching for the last position with a row; `undefined` if it cannot be counted this way.
   *
   * @param guess Where to start.
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
