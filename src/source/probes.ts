import { map } from 'rxjs';
import { digestOf } from '../vector/index.js';
import type { Ask } from '../flow/index.js';
import type { Consistency } from '../core/index.js';
import type { PagedList } from './paging.js';
import type { Positions } from './positions.js';
import { namesOf, type Repeat } from './seen-rows.js';

/** Most places that are looked at again, of each kind. */
export const maxProbes = 8;

/** Looks at some places of a list again, once it was read. */
export class Probes {
  /** @param onDrift Takes what is different. */
  constructor(
    private readonly list: PagedList,
    private readonly key: readonly string[],
    private readonly positions: Positions,
    private readonly consistency: Consistency,
    private readonly onDrift: (what: string) => void,
  ) {}

  /** @param digests Those of all pages, by number. */
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
   * @param repeats Rows that came again; only some of them are looked at.
   * @returns How many were.
   */
  async repeats(ask: Ask, repeats: readonly Repeat[]): Promise<number> {
    const asked = evenly(repeats, maxProbes);
    for (const { first, position, name } of asked) {
      for (const place of [first, position]) {
        this.consistency.probes += 1;
        const [now] = await this.positions.at(ask, place);
        if (now !== name) this.onDrift(`row ${place + 1} had a key that came twice, and is another one now`);
      }
    }
    return asked.length;
  }
}

/** At most so many of the items, first and last among them, evenly spaced. */
export function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}
