import { checkOptions, clientShape, wrongOption } from '../http/index.js';
import { collectionNames, collections, type CollectionName } from '../collections/index.js';
import { schema, unknownName } from '../core/index.js';
import { callback, given, windowHoldsConcurrency } from '../options/index.js';
import { readingShape } from './options.js';

const connection = schema((z) =>
  z
    .strictObject({ ...clientShape(), ...readingShape(), allowUnstable: z.boolean().optional(), onConsistency: callback().optional() })
    .refine(...windowHoldsConcurrency),
);

const read = schema((z) => z.strictObject({ reveal: z.array(z.string()).readonly().optional() }));

/** @throws {SourceError} `E_SOURCE_CONFIG` for options that cannot be right, each of them named. */
export function checkConnection(options: unknown): void {
  checkOptions(options, connection);
}

/** @throws {SourceError} `E_SOURCE_CONFIG` for a collection that is none, and for fields that it does not have. */
export function checkRead(collection: CollectionName, options: unknown): void {
  if (!Object.hasOwn(collections, collection)) throw wrongOption(unknownName('collection', String(collection), collectionNames));
  checkOptions(options, read);
  const { reveal = [] } = read().parse(options);
  const known = Object.keys(collections[collection].fields);
  const unknown = reveal.find((name) => !known.includes(name));
  if (unknown !== undefined) throw wrongOption(`${collection}: reveal: ${unknownName('field', unknown, known)}`);
}

/** @throws {SourceError} `E_SOURCE_CONFIG` for what is no text. */
export function checkIdentifier(collection: CollectionName, id: unknown): void {
  if (typeof id !== 'string') throw wrongOption(`${collection}: an identifier must be a text, not ${given(id)}`);
}
