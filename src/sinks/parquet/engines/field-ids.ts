/** Iceberg keeps the last 200 numbers of 31 bits for itself. */
const ids = 2 ** 31 - 1 - 200;

/**
 * A field id per column, from 1 to 2^31 - 201, which follows from the name alone: readers that match columns by id (Iceberg, Delta, Spark)
 * find the same column every night, whatever other columns come, go or change places. Numbering by position would
 * give a column the id that another one had yesterday.
 *
 * Two names with one hash (a chance of 1 in 4 million for 33 columns) get different ids all the same: the later one in the
 * order of names is hashed again, longer.
 */
export function fieldIds(names: readonly string[]): ReadonlyMap<string, number> {
  const owners = new Map<number, string>();
  for (const name of [...names].sort()) {
    let hashed = name;
    while (owners.has(idOf(hashed))) hashed += '+';
    owners.set(idOf(hashed), name);
  }
  return new Map([...owners].map(([id, name]) => [name, id]));
}

/** FNV-1a of 32 bits over the UTF-8 bytes, brought into the range of ids. */
function idOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return ((hash >>> 0) % ids) + 1;
}
