import { LineCounter, isAlias, isCollection, isMap, isNode, isScalar, parseAllDocuments, visit } from 'yaml';
import type { Document, Node, YAMLError, YAMLMap } from 'yaml';
import { SpecError, unknownName } from '../core/index.js';
import { getIn } from '../options/index.js';

export type Path = readonly (string | number)[];

/** A document of a pipeline file: plain maps, lists and strings, each with its position. */
export interface SpecDocument {
  readonly file: string;
  readonly value: unknown;
  readonly overridden: readonly Path[];
  /** Returns whether a scalar is neither quoted nor a block. */
  isPlain(path: Path): boolean;
  /** Returns the position, from 1, of a value, or with `onKey` of its key; that of its nearest parent if there is none. */
  locate(path: Path, onKey?: boolean): Position;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Parses YAML: one specification per document, which inherits the `defaults` of the first. Scalars remain text: `0123`, `yes` and `null`
 * are names here, and a schema decides what is a number.
 * @param overrides Values that replace those of every pipeline, by path; `undefined` removes one.
 * @returns The value of `defaults`, and at least one pipeline.
 * @throws {SpecError} `E_SPEC_YAML`, with the first error, and for a file without a pipeline; `E_SPEC_INVALID` for misplaced defaults.
 */
export function parseSpecDocuments(
  file: string,
  text: string,
  overrides: readonly { path: Path; value: string | undefined }[] = [],
): { readonly defaults: unknown; readonly pipelines: readonly SpecDocument[] } {
  const lines = new LineCounter();
  const { parsed, trouble } = parse(text, lines);
  const documents = parsed.filter((document) => !isEmpty(document));
  const names = documents.map((document) => document.get('name')).filter((name) => typeof name === 'string');
  const refuse = (code: 'E_SPEC_YAML' | 'E_SPEC_INVALID', troubles: readonly Trouble[]) => {
    const issues = troubles.map(({ message, offset }) => ({ message, ...placeOf(lines, offset) }));
    if (issues.length > 0) throw new SpecError(code, file, issues, names);
  };
  refuse('E_SPEC_YAML', trouble ? [trouble] : []);
  refuse('E_SPEC_INVALID', documents.flatMap(misplacedDefaults));
  const defaults = documents[0]?.has('defaults') ? documents.shift() : undefined;
  if (documents.length === 0)
    refuse('E_SPEC_YAML', [{ offset: 0, message: defaults ? 'no pipeline follows the defaults' : 'the file is empty' }]);
  const other = documents.find(({ contents }) => !isMap(contents));
  if (other) refuse('E_SPEC_YAML', [{ offset: offsetOf(other), message: 'a pipeline must be a map with name, from and to' }]);
  const shared = defaults?.get('defaults', true);
  const pipelines = documents.map((document) => {
    if (isMap(document.contents) && isMap(shared)) inherit(document.contents, shared, []);
    for (const { path, value } of overrides)
      try {
        if (value !== undefined) document.setIn(path, value);
        else if (document.hasIn(path)) document.deleteIn(path);
      } catch {
        refuse('E_SPEC_INVALID', [{ offset: 0, message: `--set ${path.join('.')}: the file has no such place` }]);
      }
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return {
      ...{ file, value: value ?? {}, overridden: overrides.map(({ path }) => path) },
      isPlain: (path: Path) => {
        const node = document.getIn(path, true);
        return isScalar(node) && (node.type === undefined || node.type === 'PLAIN');
      },
      locate: (path: Path, onKey = false) => placeOf(lines, offsetOf(document, path, onKey)),
    };
  });
  const inherited: unknown = defaults?.toJS({ maxAliasCount: 0 });
  return { defaults: getIn(inherited, ['defaults']), pipelines };
}

interface Trouble {
  readonly offset: number;
  readonly message: string;
}

const maxLength = 2 ** 20;

/** Recursive functions support several hundred levels. */
const maxDepth = 64;
const tooDeep = { offset: 0, message: `lists and maps are nested more than ${maxDepth} levels deep` };

/** @returns The documents, and the first problem: later ones mostly follow from it. */
function parse(text: string, lines: LineCounter): { readonly parsed: readonly Document[]; readonly trouble: Trouble | undefined } {
  if (text.length > maxLength)
    return { parsed: [], trouble: { offset: 0, message: 'a pipeline file may be at most 1 MB; is this the right file?' } };
  try {
    const options = { lineCounter: lines, schema: 'failsafe', uniqueKeys: true, prettyErrors: false, merge: false } as const;
    const parsed = [...parseAllDocuments(text, options)];
    const [first] = parsed.flatMap(({ errors, warnings }) => [...errors, ...warnings]).sort((a, b) => a.pos[0] - b.pos[0]);
    return { parsed, trouble: first ? invalid(text, first) : refusedIn(parsed) };
  } catch (error) {
    if (error instanceof RangeError) return { parsed: [], trouble: tooDeep };
    throw error;
  }
}

const notAccepted = 'anchors, aliases, tags and directives are not accepted; a value that begins with &, *, ! or % needs quotes';
/** The parser's messages would quote the value. */
const refusedCodes = ['BAD_ALIAS', 'BAD_DIRECTIVE', 'TAG_RESOLVE_FAILED'];

function invalid(text: string, { code, message, pos: [offset] }: YAMLError): Trouble {
  // The stack overflows at a depth that depends on the version of Node.
  if (code === 'RESOURCE_EXHAUSTION') return tooDeep;
  const [line = ''] = text.slice(text.lastIndexOf('\n', offset - 1) + 1).split('\n');
  const isReference = /^[^"'#]*(?:\$\{|\{\{)/.test(line);
  if (isReference) return { offset, message: 'a value with ${…} or {{ … }} needs quotes here: YAML interprets its braces' };
  return { offset, message: refusedCodes.includes(code) ? notAccepted : message.replace(/(?:: ["|>]| \\).*$/s, '') };
}

function refusedIn(documents: readonly Document[]): Trouble | undefined {
  let found: Trouble | undefined;
  for (const document of documents)
    visit(document, {
      Node: (key, node, path) => {
        const message = refusalOf(node, key === 'key', path.filter(isCollection).length);
        if (message !== undefined) found ??= { offset: node.range?.[0] ?? 0, message };
        return found && visit.BREAK;
      },
    });
  return found;
}

function refusalOf(node: Node, isKey: boolean, depth: number): string | undefined {
  if (isAlias(node) || node.anchor !== undefined || node.tag !== undefined) return notAccepted;
  if (depth >= maxDepth && isCollection(node)) return tooDeep.message;
  if (isKey && isScalar(node) && node.value === '__proto__') return "'__proto__' is not a valid name: its value would be lost";
  return isKey && !isScalar(node) ? 'a key must be a text; a value that begins with a bracket or brace needs quotes' : undefined;
}

function placeOf(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.source === '');
}

function offsetOf(document: Document, path: Path = [], onKey = false): number {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = document.getIn(path.slice(0, depth), true);
    const key = keyNode(document, path.slice(0, depth));
    // The range of an empty value is after the colon, so its key is the better position.
    const isEmptyValue = isScalar(node) && node.range && node.range[0] === node.range[1];
    const found = isEmptyValue || (onKey && depth === path.length) ? (key ?? node) : (node ?? key);
    if (isNode(found) && found.range) return found.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

function keyNode(document: Document, path: Path): Node | undefined {
  const parent = document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  return isNode(pair?.key) ? pair.key : undefined;
}

export const hookNames = ['on_success', 'on_failure'] as const;

export type HookName = (typeof hookNames)[number];

export const inheritedKeys: readonly string[] = [
  'service',
  'services',
  'collections',
  'rejects',
  'spool',
  'store',
  'publish',
  'expect',
  ...hookNames,
];

/** Returns the rest of a path that leads into the account of a service; `undefined` for others. */
export function belowAuth([key, ...path]: Path): Path | undefined {
  const [auth, ...rest] = key === 'services' ? path.slice(1) : key === 'service' ? path : [];
  return auth === 'auth' ? rest : undefined;
}

function misplacedDefaults(document: Document, index: number): readonly Trouble[] {
  const { contents } = document;
  if (!isMap(contents) || !document.has('defaults')) return [];
  const trouble = (path: Path, message: string) => ({ offset: offsetOf(document, path, true), message });
  if (index > 0 || contents.items.length > 1)
    return [trouble(['defaults'], 'defaults must be alone in the first document; pipelines follow after a line of ---')];
  const defaults = document.get('defaults', true);
  if (!isMap(defaults)) return [trouble(['defaults'], "'defaults' must be a map of what pipelines inherit")];
  const names = defaults.items.map(({ key }) => (isScalar(key) ? String(key.value) : ''));
  const others = names.filter((name) => !inheritedKeys.includes(name));
  return others.map((name) => trouble(['defaults', name], unknownName('key', name, inheritedKeys)));
}

/** Copies `defaults` into a map, by key. The map's own values take precedence, its account as a whole, and null excludes a key. */
function inherit(own: YAMLMap, from: YAMLMap, at: readonly string[]): void {
  for (const pair of from.items) {
    if (!isScalar(pair.key)) continue;
    const path = [...at, String(pair.key.value)];
    const present = own.get(pair.key.value, true);
    if (present === undefined) own.items.push(pair.clone());
    else if (isNothing(present)) own.delete(pair.key.value);
    else if (isMap(present) && isMap(pair.value) && belowAuth(path)?.length !== 0) inherit(present, pair.value, path);
    else if (isScalar(present) && isMap(pair.value) && path[0] === 'collections') {
      // A field's type alone: what else its declaration says, like that it is secret, stays.
      own.set(pair.key.value, pair.value.clone());
      own.setIn([pair.key.value, 'type'], present);
    }
  }
}

/** Returns whether a node is null. Scalars are parsed as texts; a quoted one is text. */
function isNothing(node: unknown): boolean {
  return isScalar(node) && node.type === 'PLAIN' && ['null', '~', '', null].some((nothing) => node.value === nothing);
}
