import { map } from 'rxjs';
import { digestOf } from '../vector/index.js';
import type { Ask } from '../flow/index.js';
import type { Consistency } from '../core/index.js';
import type { PagedList } from './paging.js';
import type { Positions } from './positions.js';
import { namesOf, type Repeat } from './seen-rows.js';

/** Maximum number of places of each kind to re-check. */
export const maxProbes = 8;

/** Re-checks some places of a list after it was read. */
export class Probes {
  /**
   * @param onDrift Receives what has changed.
   */
  constructor(
    private readonly list: PagedList,
    private readonly key: readonly string[],
    private readonly positions: Positions,
    private readonly consistency: Consistency,
    private readonly onDrift: (what: string) => void,
  ) {}

  /**
   * @param digests The digests of all pages, by number.
   */
  async pages(ask: Ask, digests: ReadonlyMap<number, number>): Promise<void> {
    const numbers = evenly([...digests.keys()], maxProbes);
    const digest$ = (number: number) => this.list.probe(number).pipe(map(({ batch }) => digestOf(namesOf(batch, this.key))));
    const now = await Promise.all(numbers.map((number) => ask(digest$(number))));
    this.consistency.probes += numbers.length;
    numbers.forEach((number, index) => {
      if (now[index] !== digests.get(number)) this.onDrift(`page ${number} has changed`);
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
        this.consistency.probes += 1;
        const [now] = await this.positions.at(ask, place);
        if (now !== name) this.onDrift(`row ${place + 1} had a repeated key, and is a different row now`);
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
