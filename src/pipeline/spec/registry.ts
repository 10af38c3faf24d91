import { collections, type Collection, type Registry } from '../../collections/index.js';
import { collectionOf, collectionShape } from '../../source/index.js';
import { validated, type Judging } from './validate.js';

/**
 * The collections that a document can name: those of every service, and its own.
 *
 * @param document With its references resolved.
 * @returns `undefined` when one of its own cannot be right, so that what names it cannot be judged.
 */
export function registryOf(document: unknown, judging: Judging): Registry | undefined {
  const own = ownCollections(document, judging);
  return own && { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}

/** The collections that a document declares; `undefined` when one of them cannot be right. */
export function ownCollections(document: unknown, judging: Judging): readonly Collection[] | undefined {
  const declared: unknown = typeof document === 'object' && document !== null ? Reflect.get(document, 'collections') : undefined;
  // That it is a map, the shape of the document says.
  if (typeof declared !== 'object' || declared === null) return [];
  const checked = Object.entries(declared).map(([name, value]) => {
    const declaration = validated(collectionShape(name), value, ['collections', name], judging);
    return declaration && collectionOf(name, declaration);
  });
  const own = checked.filter((collection) => collection !== undefined);
  return own.length === checked.length ? own : undefined;
}
