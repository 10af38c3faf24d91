import type { View } from '../answer.js';
import { Draw, purposes } from '../generate/random.js';

/**
 * Models lists sorted by a key so coarse that `group` neighbours share it, with a random order within a group that changes from request to request. A group
 * that spans two pages makes rows appear twice or never.
 *
 * The seed and the number of the request determine the order.
 */
export function unstableOrder(view: View, group: number, seed: number): View {
  const draw = new Draw(seed, purposes.order);
  return (facts) => {
    const table = view(facts);
    if (facts.id !== null) return table;
    const orders = new Map<number, readonly number[]>();
    const orderOf = (start: number): readonly number[] => {
      const known = orders.get(start);
      if (known) return known;
      draw.seek(facts.sequence * 0x10_0000 + start / group);
      const order = shuffled(
        Array.from({ length: Math.min(group, table.count - start) }, (_, index) => start + index),
        draw,
      );
      orders.set(start, order);
      return order;
    };
    return {
      count: table.count,
      find: table.find,
      row: (index) => table.row(orderOf(index - (index % group))[index % group] ?? index),
    };
  };
}

/** Shuffles a list (Fisher and Yates). */
function shuffled<T>(list: T[], draw: Draw): readonly T[] {
  for (let end = list.length; end > 1; end -= 1) {
    const [taken] = list.splice(draw.below(end), 1);
    if (taken !== undefined) list.push(taken);
  }
  return list;
}
