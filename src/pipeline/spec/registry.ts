import { collections, type Collection, type Registry } from '../../collections/index.js';
import { collectionOf, collectionShape } from '../../source/index.js';
import type { Problem } from './references.js';
import { validated } from './validate.js';

/**
 * The collections that a document can name: those of every service, and its own.
 *
 * @param document With its references resolved.
 * @returns `undefined` when one of its own cannot be right, so that what names it cannot be judged.
 */
export function registryOf(document: unknown, problem: Problem): Registry | undefined {
  const declared: unknown = typeof document === 'object' && document !== null ? Reflect.get(document, 'collections') : undefined;
  // That it is a map, the shape of the document says.
  if (typeof declared !== 'object' || declared === null) return collections;
  const own = Object.entries(declared).map(([name, value]): Collection | undefined => {
    const checked = validated(collectionShape(name), value, ['collections', name], problem);
    return checked && collectionOf(name, checked);
  });
  if (own.includes(undefined)) return undefined;
  return {
    ...collections,
    ...Object.fromEntries(own.flatMap((collection) => (collection ? [[collection.name, collection] as const] : []))),
  };
}
