import { checkOptions, clientChecks, withAgent, wrongOption } from '../http/index.js';
import { collections, withheldOf, type Collection, type Registry } from '../collections/index.js';
import { nameProblem } from './declared.js';
import { itemAt, unknownName } from '../core/index.js';
import {
  abortSignal,
  consistencyModes,
  flag,
  kindOf,
  judged,
  object,
  oneOf,
  repeatsIn,
  standsTwice,
  texts,
  windowHoldsConcurrency,
  windowTooSmall,
  type Check,
  type Windowed,
} from '../options/index.js';
import { readingChecks, type ReadOptions } from './options.js';

const connection = withAgent(
  withWindow(
    object({ ...clientChecks, ...readingChecks, collections: judged(collectionsProblem), allowUnstable: flag }, ['baseUrl', 'auth']),
  ),
);

/**
 * @throws {SourceError} `E_SOURCE_CONFIG` for invalid options, naming each one.
 */
export function checkConnection(options: unknown): void {
  checkOptions(options, connection);
}

const read = object({
  reveal: texts(),
  fields: texts(1),
  signal: abortSignal,
  consistency: oneOf(consistencyModes),
  strict: flag,
  allowUnstable: flag,
});

const single = object({ signal: abortSignal });

/** Extends an options check: the window must be at least the concurrency. */
function withWindow(options: Check): Check {
  return (value, place) => {
    const problems = options(value, place);
    // Without a problem these are numbers or `undefined`.
    return problems.length > 0 || !isWindowed(value) || windowHoldsConcurrency(value) ? problems : [`window ${windowTooSmall}`];
  };
}

function isWindowed(value: unknown): value is Windowed {
  return typeof value === 'object' && value !== null;
}

/** @throws {SourceError} `E_SOURCE_CONFIG` for a name that no collection has. */
export function collectionIn(registry: Registry, name: string): Collection {
  const found = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (found === undefined) throw wrongOption(unknownName('collection', String(name), Object.keys(registry)));
  return found;
}

/**
 * @throws {SourceError} `E_SOURCE_CONFIG` for invalid options.
 */
export function checkRead(collection: string, options: unknown): void {
  checkOptions(options, read, `the options of ${collection}.with, like { fields: ['id'] },`);
}

/**
 * @throws {SourceError} `E_SOURCE_CONFIG` for fields that the collection lacks or withholds.
 */
export function checkNames(collection: Collection, { reveal = [], fields = [] }: Pick<ReadOptions, 'reveal' | 'fields'>): void {
  const known = Object.keys(collection.fields);
  for (const [option, names] of Object.entries({ reveal, fields })) {
    const at = `${collection.name}: ${option}`;
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) throw wrongOption(`${at}: ${unknownName('field', unknown, known)}`);
    const [twice] = repeatsIn(names);
    if (twice !== undefined) throw wrongOption(`${at}: ${standsTwice(itemAt(names, twice))}`);
  }
  const withheld = withheldOf(collection, reveal);
  const secret = fields.find((name) => withheld.includes(name));
  if (secret === undefined) return;
  throw wrongOption(`${collection.name}: fields: '${secret}' is withheld because it is credential-like; name it under reveal, too`);
}

/** Returns the collections that every service has, and those of a program. */
export function registryOf(own: readonly Collection[] = []): Registry {
  return { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}

/** Describes what is wrong with the collections of a program; `undefined` if they are valid. */
function collectionsProblem(own: unknown): string | undefined {
  if (own === undefined) return undefined;
  if (!Array.isArray(own)) return 'must be a list of what defineCollection returns';
  const stranger: unknown = own.find((collection: unknown) => !isDefined(collection));
  if (stranger !== undefined) return `one of them is ${kindOf(stranger)}, which defineCollection did not create`;
  const names = own.filter(isDefined).map(({ name }) => name);
  return (
    names.map(nameProblem).find((problem) => problem !== undefined) ??
    (repeatsIn(names).length > 0 ? `two of them have the same name` : undefined)
  );
}

function isDefined(value: unknown): value is Collection {
  return typeof value === 'object' && value !== null && 'served' in value && 'name' in value && typeof value.name === 'string';
}

/**
 * @throws {SourceError} `E_SOURCE_CONFIG` for an identifier that is not a text, and invalid options.
 */
export function checkFind(collection: string, id: unknown, options: unknown): void {
  checkOptions(options, single, `the options of ${collection}.find, like { signal },`);
  if (typeof id !== 'string') throw wrongOption(`${collection}: an identifier must be a text, not ${kindOf(id)}`);
}
