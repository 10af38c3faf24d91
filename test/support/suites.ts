import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The suites that run together, by the name of the file in `test/rooms` or `test/heavy-rooms` that runs them, each in one room. */
export const rooms: Readonly<Record<string, RegExp>> = {
  'cli-a-l': /^system\/cli\/[a-l]/,
  'cli-m-z': /^system\/cli\/[m-z]/,
  http: /^system\/(http|collections)\//,
  'lake-a-o': /^system\/lake\/[a-o]/,
  'lake-p-r': /^system\/lake\/[p-r]/,
  'lake-s-z': /^system\/lake\/[s-z]/,
  'pipeline-a-h': /^system\/pipeline\/[a-h]/,
  'pipeline-i-r': /^system\/pipeline\/[i-r]/,
  'pipeline-s-z': /^system\/pipeline\/[s-z]/,
  service: /^system\/(service|doctor|[^/]+$)/,
  'source-a-f': /^system\/source\/[a-f]/,
  'source-g-r': /^system\/source\/[g-r]/,
  'source-s-z': /^system\/source\/[s-z]/,
  store: /^system\/(parquet|sinks|store)\//,
  unit: /^unit\//,
  'heavy-lake-a-n': /^heavy\/lake\/[a-n]/,
  'heavy-lake-o': /^heavy\/lake\/o/,
  'heavy-lake-p-r': /^heavy\/lake\/[p-r]/,
  'heavy-lake-s-z': /^heavy\/lake\/[s-z]/,
  'heavy-processes': /^heavy\/(cli|pipeline|sinks|source|store)\//,
};

/**
 * Declares the tests of all suites of a room.
 *
 * jest runs each file in a separate context, in which all modules are loaded again and all code is cold, which took half of the time. Hooks of a
 * suite must be inside a `describe`, or they run for each test of the room.
 */
export async function runRoom(name: string): Promise<void> {
  for (const suite of await suites()) if (rooms[name]?.test(suite)) await import(resolve('test', suite));
}

/** Returns the suites of `unit`, `system` and `heavy`, as paths in `test`, sorted. */
export async function suites(): Promise<readonly string[]> {
  return (await readdir('test', { recursive: true })).filter((path) => /^(unit|system|heavy)\/.*\.test\.ts$/.test(path)).sort();
}
