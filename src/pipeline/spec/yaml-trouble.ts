import { isAlias, isCollection, isMap, isNode, isPair, isScalar, type Document, type Node, type YAMLError } from 'yaml';

/** What is wrong with a file as YAML, at an offset of its text. */
export interface Trouble {
  readonly offset: number;
  readonly message: string;
}

/** More levels of lists and maps than anybody writes; a parser that recurses has room for several hundred. */
const maxDepth = 64;

const tooDeep = `lists and maps stand in one another more than ${maxDepth} levels deep`;

/**
 * The first thing that is wrong with a text as YAML. What follows it is mostly its consequence, so it stands alone.
 *
 * @param documents The text, parsed.
 */
export function troubleIn(text: string, documents: readonly Document[]): Trouble | undefined {
  const errors = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]).sort((a, b) => a.pos[0] - b.pos[0]);
  const [first] = errors;
  if (first) return inOurWords(text, first);
  for (const { contents } of documents) {
    const trouble = isNode(contents) ? strangeIn(text, contents) : undefined;
    if (trouble) return trouble;
  }
  return undefined;
}

/** The trouble of a text that a parser gave up. */
export function gaveUp(thrown: unknown): Trouble {
  if (!(thrown instanceof RangeError)) throw thrown;
  return { offset: 0, message: tooDeep };
}

function inOurWords(text: string, { code, message, pos: [offset] }: YAMLError): Trouble {
  if (message.includes('call stack')) return { offset, message: tooDeep };
  const reference = unquotedReference(text, offset);
  if (reference) return reference;
  const before = text.slice(0, offset).trimEnd().at(-1) ?? '';
  const [, closing] = /must be sufficiently indented and end with an? (.)/.exec(message) ?? [];
  if (closing !== undefined) return { offset, message: `a ${closing} is missing before this, or stands further left than what it closes` };
  if (code === 'BAD_SCALAR_START') return { offset, message: `a text that begins with ${text[offset] ?? ''} needs quotes` };
  if (code === 'TAG_RESOLVE_FAILED') return { offset, message: 'a text that begins with ! needs quotes' };
  if (/^Nested mappings|^Implicit keys|BLOCK_AS_IMPLICIT_KEY/.test(message))
    return { offset, message: "a text that holds ': ' needs quotes" };
  if (code === 'UNEXPECTED_TOKEN' && /["']/.test(before)) {
    return { offset, message: 'there is text after the closing quote; put quotes around the whole text' };
  }
  if (code === 'UNEXPECTED_TOKEN' && /[\]}]/.test(before)) {
    return { offset, message: `there is text after the closing ${before}; a text that begins with a bracket or brace needs quotes` };
  }
  if (code === 'DUPLICATE_KEY') return { offset, message: 'this key is here twice' };
  return { offset, message };
}

/** A `${…}` or `{{ … }}` that YAML takes for braces of its own: where an error is, or at the start of a value on its line. */
function unquotedReference(text: string, offset: number): Trouble | undefined {
  if (text.startsWith('${', offset - 1)) return { offset: offset - 1, message: needsQuotes('${') };
  if (text.startsWith('{{', offset)) return { offset, message: needsQuotes('{{') };
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const [, before] = /^([^"'#]*?[:-]\s+)\{\{/.exec(text.slice(start, offset)) ?? [];
  return before === undefined ? undefined : { offset: start + before.length, message: needsQuotes('{{') };
}

function needsQuotes(opening: string): string {
  const [form, example] = opening === '${' ? ['${…}', '"${NAME}"'] : ['{{ … }}', '"{{ run.date }}"'];
  return `a text with ${form} needs quotes, like ${example}: its braces are YAML's own here`;
}

/** What is YAML and nothing that a pipeline file could mean. It does not recurse: a file can be deep. */
function strangeIn(text: string, root: Node): Trouble | undefined {
  const open: { readonly node: Node; readonly depth: number }[] = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    const offset = node.range?.[0] ?? 0;
    if (depth > maxDepth) return { offset, message: tooDeep };
    if (isAlias(node) || node.anchor !== undefined) {
      return { offset, message: 'anchors and aliases are not accepted; a text that begins with & or * needs quotes' };
    }
    if (!isCollection(node)) continue;
    const inner = node.items.flatMap((item) => (isPair(item) ? [item.key, item.value] : [item])).filter(isNode);
    if (isMap(node)) {
      for (const { key } of node.items) {
        const trouble = strangeKey(text, key, node.flow === true, offset);
        if (trouble) return trouble;
      }
    }
    // The first one is looked at first.
    for (const item of inner.reverse()) open.push({ node: item, depth: depth + 1 });
  }
  return undefined;
}

/** A key is a name; lists, maps and halves of a text that a comma cut in two are none. */
function strangeKey(text: string, key: unknown, flow: boolean, parent: number): Trouble | undefined {
  const offset = isNode(key) ? (key.range?.[0] ?? parent) : parent;
  if (isAlias(key)) return { offset, message: 'anchors and aliases are not accepted; a text that begins with & or * needs quotes' };
  if (!isScalar(key)) {
    if (text.startsWith('{', offset) && text[offset - 1] === '{') return { offset: offset - 1, message: needsQuotes('{{') };
    return { offset, message: 'there is a list or map where a key is expected; a text that begins with a bracket or brace needs quotes' };
  }
  if (key.value === '' && key.type === 'PLAIN') return { offset, message: 'a key is missing in front of the colon' };
  if (flow && key.type === 'PLAIN' && !isBalanced(String(key.value))) {
    return {
      offset,
      message: `'${String(key.value)}' is half of a text: inside { … } a text with a comma needs quotes, or a line of its own`,
    };
  }
  return undefined;
}

function isBalanced(text: string): boolean {
  const count = (characters: RegExp) => text.match(characters)?.length ?? 0;
  return count(/[([]/g) === count(/[)\]]/g) && count(/'/g) % 2 === 0 && count(/"/g) % 2 === 0;
}
