/**
 * Returns the item at a computed index, which must exist.
 *
 * @throws {Error} When there is none, which is a defect: a wrong index must fail, and never become an empty column or name.
 */
export function itemAt<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index} of ${items.length}`);
  return item;
}
