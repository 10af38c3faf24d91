/** Returns a copy without keys whose value is `undefined`, so that defaults apply. */
export function defined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

/** Returns whether a value is an object and no list. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

/** Returns an object that has something for each of some names. */
export function byName<N extends string, T>(names: readonly N[], of: (name: N, index: number) => T): { readonly [K in N]: T } {
  // There is an entry for each of the names, which the type system cannot follow through the list of them.
  return Object.fromEntries(names.map((name, index) => [name, of(name, index)])) as { readonly [K in N]: T };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns the item at a computed index. @throws {Error} When there is none: a wrong index must never become an empty column or name. */
export function itemAt<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index} of ${items.length}`);
  return item;
}
