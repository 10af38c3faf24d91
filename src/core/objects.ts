/** Returns a copy without `undefined` values, so that defaults apply. */
export function defined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

export function byName<N extends string, T>(names: readonly N[], of: (name: N, index: number) => T): { readonly [K in N]: T } {
  // Every name has an entry, but the type system cannot follow the list of names.
  return Object.fromEntries(names.map((name, index) => [name, of(name, index)])) as { readonly [K in N]: T };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns an item. @throws {Error} If there is none: a wrong index must not become an empty column or name. */
export function itemAt<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index} of ${items.length}`);
  return item;
}
