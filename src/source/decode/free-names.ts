/** Returns a function that makes names unique: `name`, `name_2`, `name_3` with the joint `_`. */
export function freeNames(given: Iterable<string>, joint = '_'): (name: string) => string {
  const taken = new Set(given);
  const last = new Map<string, number>();
  return (name) => {
    let suffix = last.get(name) ?? 1;
    let free = name;
    while (taken.has(free)) {
      suffix += 1;
      free = `${name}${joint}${suffix}`;
    }
    last.set(name, suffix);
    taken.add(free);
    return free;
  };
}
