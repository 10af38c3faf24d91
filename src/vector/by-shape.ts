/** A run has few sets of fields; a stream of ever-new ones must not fill the memory. */
const maxShapes = 64;

/** Caches what a function creates for a list of names: a generated function, which costs as much as many rows. */
export function byShape<R>(make: (names: readonly string[]) => R): (names: readonly string[]) => R {
  const made = new Map<string, R>();
  return (names) => {
    const shape = JSON.stringify(names);
    const known = made.get(shape);
    if (known !== undefined) return known;
    if (made.size >= maxShapes) made.clear();
    const fresh = make(names);
    made.set(shape, fresh);
    return fresh;
  };
}
