/** Number of requests at a time. */
const atOnce = 8;

/** Does work for all items, in their order, a few at a time. */
export async function* inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): AsyncGenerator<R> {
  for (let from = 0; from < items.length; from += atOnce) yield* await Promise.all(items.slice(from, from + atOnce).map(work));
}
