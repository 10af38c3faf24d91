/**
 * An item of a list that has it, for places that were computed.
 *
 * @throws {Error} When it has none there, which is a defect: a wrong place must fail, and never become an empty column or name.
 */
export function itemAt<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index} of ${items.length}`);
  return item;
}
