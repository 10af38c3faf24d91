import { checkOptions, clientShape, wrongOption } from '../http/index.js';
import { collections, type Collection, type Registry } from '../collections/index.js';
import { nameProblem } from './declared/shape.js';
import { schema, unknownName } from '../core/index.js';
import { callback, given, judgedBy, repeatsIn, windowHoldsConcurrency } from '../options/index.js';
import { readingShape } from './options.js';

const connection = schema((z) =>
  z
    .strictObject({
      ...clientShape(),
      ...readingShape(),
      collections: judgedBy(collectionsProblem).optional(),
      allowUnstable: z.boolean().optional(),
      onConsistency: callback().optional(),
    })
    .refine(...windowHoldsConcurrency),
);

const read = schema((z) => z.strictObject({ reveal: z.array(z.string()).readonly().optional() }));

/** @throws {SourceError} `E_SOURCE_CONFIG` for options that cannot be right, each of them named. */
export function checkConnection(options: unknown): void {
  checkOptions(options, connection);
}

/** @throws {SourceError} `E_SOURCE_CONFIG` for a collection that is none, and for fields that it does not have. */
export function checkRead(registry: Registry, collection: string, options: unknown): Collection {
  const found = Object.hasOwn(registry, collection) ? registry[collection] : undefined;
  if (found === undefined) throw wrongOption(unknownName('collection', String(collection), Object.keys(registry)));
  checkOptions(options, read);
  const { reveal = [] } = read().parse(options);
  const known = Object.keys(found.fields);
  const unknown = reveal.find((name) => !known.includes(name));
  if (unknown !== undefined) throw wrongOption(`${collection}: reveal: ${unknownName('field', unknown, known)}`);
  return found;
}

/** The collections that every service has, and those of a program. */
export function registryOf(own: readonly Collection[] = []): Registry {
  return { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}

/** What is wrong with the collections of a program, in words. */
function collectionsProblem(own: unknown): string | undefined {
  if (own === undefined) return undefined;
  if (!Array.isArray(own)) return 'must be a list of what defineCollection gives';
  const stranger: unknown = own.find((collection: unknown) => !isDefined(collection));
  if (stranger !== undefined) return `one of them is ${given(stranger)} that defineCollection did not make`;
  const names = own.filter(isDefined).map(({ name }) => name);
  return (
    names.map(nameProblem).find((problem) => problem !== undefined) ??
    (repeatsIn(names).length > 0 ? `two of them have the same name` : undefined)
  );
}

function isDefined(value: unknown): value is Collection {
  return typeof value === 'object' && value !== null && 'served' in value && 'name' in value && typeof value.name === 'string';
}

/** @throws {SourceError} `E_SOURCE_CONFIG` for what is no text. */
export function checkIdentifier(collection: string, id: unknown): void {
  if (typeof id !== 'string') throw wrongOption(`${collection}: an identifier must be a text, not ${given(id)}`);
}
