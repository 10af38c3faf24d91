import { collections, type Collection, type Registry } from '../../collections/index.js';
import { collectionOf, collectionShape } from '../../source/index.js';
import { validated, type Judging } from './validate.js';

/**
 * Returns the collections that a document can name: those of every service, and its own.
 *
 * @param document With its references resolved.
 * @returns `undefined` if one of its own collections is invalid, so that uses of it cannot be checked.
 */
export function registryOf(document: unknown, judging: Judging): Registry | undefined {
  const own = ownCollections(document, judging);
  return own && { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}

/** Returns the collections declared by a document; `undefined` if one of them is invalid. */
export function ownCollections(document: unknown, judging: Judging): readonly Collection[] | undefined {
  const declared: unknown = typeof document === 'object' && document !== null ? Reflect.get(document, 'collections') : undefined;
  // The schema of the document checks that it is a map.
  if (typeof declared !== 'object' || declared === null) return [];
  const checked = Object.entries(declared).map(([name, value]) => {
    const declaration = validated(collectionShape(name), value, ['collections', name], judging);
    return declaration && collectionOf(name, declaration);
  });
  const own = checked.filter((collection) => collection !== undefined);
  return own.length === checked.length ? own : undefined;
}
