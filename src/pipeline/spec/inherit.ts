import { isMap, isNode, isScalar, type Document, type YAMLMap } from 'yaml';
import type { Trouble } from './yaml-trouble.js';

/** The account of a pipeline; it replaces that of the defaults as a whole. */
const account = 'service.auth';

/**
 * Describes misplaced defaults: they must be in a separate document, the first one in a file of pipelines.
 *
 * @param documents Non-empty documents of the file.
 */
export function standingFirst(documents: readonly Document[]): readonly Trouble[] {
  const having = documents.filter((document) => isMap(document.contents) && document.has('defaults'));
  return having.flatMap((document) => {
    const keys = isMap(document.contents) ? keysOf(document.contents) : [];
    const own = keys.find(({ name }) => name === 'defaults');
    if (document !== documents[0])
      return {
        offset: own?.offset ?? 0,
        message: 'defaults must be in the first document of the file, for all pipelines after it; move them to the top',
      };
    const others = keys.filter(({ name }) => name !== 'defaults');
    if (others.length > 0)
      return others.map(({ name, offset }) => ({
        offset,
        message: `'${name}' cannot be next to defaults; put it under defaults, or in the document of a pipeline after a line of ---`,
      }));
    if (documents.length > 1) return [];
    return { offset: own?.offset ?? 0, message: 'these are defaults without a pipeline; add one after a line of ---' };
  });
}

/**
 * Copies the values under `defaults` of another document into a document, key by key of its maps. The document's own values take
 * precedence, and null excludes a value that would be inherited.
 */
export function inherit({ contents }: Document, defaults: Document | undefined): void {
  const from = defaults?.get('defaults', true);
  if (isMap(contents) && isMap(from)) fill(contents, from, []);
}

function fill(own: YAMLMap, from: YAMLMap, at: readonly string[]): void {
  for (const pair of from.items) {
    if (!isScalar(pair.key)) continue;
    const path = [...at, String(pair.key.value)];
    const present = own.get(pair.key.value, true);
    if (present === undefined) own.items.push(pair.clone());
    else if (isNothing(present)) own.delete(pair.key.value);
    else if (isMap(present) && isMap(pair.value) && path.join('.') !== account) fill(present, pair.value, path);
  }
}

/** Returns whether a node is null. Scalars are read as texts, and one in quotes is meant as text. */
function isNothing(node: unknown): boolean {
  return isScalar(node) && node.type === 'PLAIN' && ['null', '~', '', null].some((nothing) => node.value === nothing);
}

function keysOf({ items }: YAMLMap): readonly { readonly name: string; readonly offset: number }[] {
  return items.map(({ key }) => ({
    name: isScalar(key) ? String(key.value) : '',
    offset: (isNode(key) ? key.range?.[0] : undefined) ?? 0,
  }));
}
