/**
 * An object that has something for each of some names.
 *
 * @param of What it has; `index` is the place of the name among the others.
 *
 * @example
 * byName(['leads', 'users'], (name) => name.length); // { leads: 5, users: 5 }
 */
export function byName<N extends string, T>(names: readonly N[], of: (name: N, index: number) => T): { readonly [K in N]: T } {
  // There is an entry for each of the names, which the type system cannot follow through the list of them.
  return Object.fromEntries(names.map((name, index) => [name, of(name, index)])) as { readonly [K in N]: T };
}
