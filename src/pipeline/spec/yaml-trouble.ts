import { Lexer, isAlias, isCollection, isMap, isNode, isPair, isScalar, type Document, type Node, type YAMLError } from 'yaml';

/** A problem of a file as YAML, at an offset of its text. */
export interface Trouble {
  readonly offset: number;
  readonly message: string;
}

/** More levels of lists and maps than any realistic file has; a recursive parser supports several hundred. */
const maxDepth = 64;

const noAnchors =
  'anchors and aliases (& and *) are not accepted: write the value out, or put what pipelines share under defaults; a value that begins with & or * needs quotes';

const tooDeep = `lists and maps are nested more than ${maxDepth} levels deep`;

/**
 * Returns the first problem of a text as YAML. It is reported alone, since later ones are mostly its consequences.
 *
 * @param documents The parsed text.
 */
export function troubleIn(text: string, documents: readonly Document[]): Trouble | undefined {
  const errors = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]).sort((a, b) => a.pos[0] - b.pos[0]);
  const [first] = errors;
  if (first) return inOurWords(text, first, documents);
  for (const { contents } of documents) {
    const trouble = isNode(contents) ? strangeIn(text, contents) : undefined;
    if (trouble) return trouble;
  }
  return undefined;
}

/** Returns the problem of a text that the parser could not process. */
export function gaveUp(text: string, thrown: unknown): Trouble {
  if (!(thrown instanceof RangeError)) throw thrown;
  return { offset: tooDeepAt(text), message: tooDeep };
}

/** Returns where the brackets of a text become too deep. The position at which the parser's stack overflows varies between versions of Node. */
function tooDeepAt(text: string): number {
  let [offset, depth] = [0, 1];
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth > maxDepth) return offset;
    // Control characters are markers of the lexer.
    if (!marks.has(token)) offset += token.length;
  }
  return 0;
}

const marks: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

function inOurWords(text: string, { code, message, pos: [offset] }: YAMLError, documents: readonly Document[]): Trouble {
  if (message.includes('call stack')) return { offset: tooDeepAt(text), message: tooDeep };
  if (code === 'DUPLICATE_KEY') return repeatedKey(text, offset, documents);
  const reference = unquotedReference(text, offset);
  if (reference) return reference;
  const before = text.slice(0, offset).trimEnd().at(-1) ?? '';
  const [, closing] = /must be sufficiently indented and end with an? (.)/.exec(message) ?? [];
  if (closing !== undefined) return { offset, message: `a ${closing} is missing before this, or is indented less than what it closes` };
  if (code === 'BAD_SCALAR_START') return { offset, message: `a value that begins with ${text[offset] ?? ''} needs quotes` };
  if (code === 'TAG_RESOLVE_FAILED') return { offset, message: 'a value that begins with ! needs quotes' };
  if (/^Nested mappings|^Implicit keys|BLOCK_AS_IMPLICIT_KEY/.test(message))
    return { offset, message: "a value that contains ': ' needs quotes" };
  if (code === 'UNEXPECTED_TOKEN' && /["']/.test(before)) {
    return { offset, message: 'there is text after the closing quote; put quotes around the whole value' };
  }
  if (code === 'UNEXPECTED_TOKEN' && /[\]}]/.test(before)) {
    return { offset, message: `there is text after the closing ${before}; a value that begins with a bracket or brace needs quotes` };
  }
  if (code === 'TAB_AS_INDENT') return { offset, message: 'this line is indented with a tab; YAML is indented with spaces' };
  if (code === 'BAD_INDENT' && message.includes('sequence items'))
    return { offset, message: 'this list item is not in the same column as those before it; indent all of them alike' };
  if (code === 'MISSING_CHAR' && message.startsWith('Missing closing'))
    return unclosedQuote(text, offset, message.includes('"') ? '"' : "'");
  return { offset, message };
}

/** Reports a key that occurs twice in a map, with the line of its first occurrence. */
function repeatedKey(text: string, offset: number, documents: readonly Document[]): Trouble {
  for (const { contents } of documents) {
    for (const map of nodesIn(contents).filter((node) => isMap(node))) {
      const keys = map.items.map(({ key }) => key).filter((key) => isScalar(key));
      const again = keys.find(({ range }) => range?.[0] === offset);
      const first = again && keys.find(({ value }) => value === again.value);
      if (!first?.range) continue;
      const message = `the key '${String(first.value)}' occurs twice, first on line ${lineAt(text, first.range[0])}; remove one of them`;
      return { offset, message };
    }
  }
  return { offset, message: 'this key occurs twice' };
}

/** Returns a node and all lists, maps and scalars below it. It does not recurse. */
function nodesIn(root: unknown): readonly Node[] {
  const found: Node[] = [];
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isPair(next)) open.push(next.key, next.value);
    else if (isNode(next)) {
      found.push(next);
      if (isCollection(next)) open.push(...next.items);
    }
  }
  return found;
}

/** Reports a quoted text that continues to the end of the file, at the last quote that opens one. */
function unclosedQuote(text: string, end: number, quote: string): Trouble {
  const begins = new RegExp(`(?:^|[\\s:,[{-])(${quote})`, 'gm');
  const openings = [...text.slice(0, end).matchAll(begins)].map(({ index, 0: found }) => index + found.length - 1);
  const opening = openings.find((at) => !closes(text.slice(at + 1, end), quote)) ?? end;
  return { offset: opening, message: `the text that begins here does not end: a ${quote} is missing` };
}

/** Returns whether a quote ends a text on its line. */
function closes(after: string, quote: string): boolean {
  const [line = ''] = after.split('\n');
  return quote === "'" ? line.replaceAll("''", '').includes("'") : line.replaceAll(/\\./g, '').includes('"');
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** Reports a `${…}` or `{{ … }}` that YAML interprets as braces: at the error, or at the start of a value on its line. */
function unquotedReference(text: string, offset: number): Trouble | undefined {
  if (text.startsWith('${', offset - 1)) return { offset: offset - 1, message: needsQuotes('${') };
  if (text.startsWith('{{', offset)) return { offset, message: needsQuotes('{{') };
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const [, before] = /^([^"'#]*?[:-]\s+)\{\{/.exec(text.slice(start, offset)) ?? [];
  return before === undefined ? undefined : { offset: start + before.length, message: needsQuotes('{{') };
}

function needsQuotes(opening: string): string {
  const [form, example] = opening === '${' ? ['${…}', '"${NAME}"'] : ['{{ … }}', '"{{ run.date }}"'];
  return `a value with ${form} needs quotes, like ${example}: YAML interprets its braces`;
}

/** Returns valid YAML that has no meaning in a pipeline file. It does not recurse, since a file can be deep. */
function strangeIn(text: string, root: Node): Trouble | undefined {
  const open: { readonly node: Node; readonly depth: number }[] = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    const offset = node.range?.[0] ?? 0;
    if (depth > maxDepth) return { offset, message: tooDeep };
    if (isAlias(node) || node.anchor !== undefined) {
      return { offset, message: noAnchors };
    }
    if (isScalar(node) && node.type === 'PLAIN' && typographic.test(String(node.value)))
      return { offset, message: 'these are typographic quotes, which YAML treats as part of the text; write \' or "' };
    if (!isCollection(node)) continue;
    const inner = node.items.flatMap((item) => (isPair(item) ? [item.key, item.value] : [item])).filter(isNode);
    if (isMap(node)) {
      for (const { key } of node.items) {
        const trouble = strangeKey(text, key, node.flow === true, offset);
        if (trouble) return trouble;
      }
    }
    // Reversed, so that the first one is examined first.
    for (const item of inner.reverse()) open.push({ node: item, depth: depth + 1 });
  }
  return undefined;
}

/** A text in typographic quotes, as inserted by word processors. */
const typographic = /^[\u2018\u201a\u201c\u201e\u00ab].*[\u2018\u2019\u201c\u201d\u00bb]$/;

/** Reports a key that is not a name: a list, a map, or part of a text that was split at a comma. */
function strangeKey(text: string, key: unknown, flow: boolean, parent: number): Trouble | undefined {
  const offset = isNode(key) ? (key.range?.[0] ?? parent) : parent;
  if (isAlias(key)) return { offset, message: noAnchors };
  if (!isScalar(key)) {
    if (text.startsWith('{', offset) && text[offset - 1] === '{') return { offset: offset - 1, message: needsQuotes('{{') };
    return { offset, message: 'there is a list or map where a key is expected; a value that begins with a bracket or brace needs quotes' };
  }
  if (key.type === 'PLAIN' || key.type === 'QUOTE_DOUBLE') {
    if (/^\/[/*]/.test(text.slice(offset))) return { offset, message: 'this is not a YAML comment: a comment begins with #' };
  }
  if (key.value === '' && key.type === 'PLAIN') return { offset, message: 'a key is missing before the colon' };
  if (flow && key.type === 'PLAIN' && !isBalanced(String(key.value))) {
    return {
      offset,
      message: `'${String(key.value)}' is half of a value: inside { … } a value with a comma needs quotes, or a line of its own`,
    };
  }
  return undefined;
}

function isBalanced(text: string): boolean {
  const count = (characters: RegExp) => text.match(characters)?.length ?? 0;
  return count(/[([]/g) === count(/[)\]]/g) && count(/'/g) % 2 === 0 && count(/"/g) % 2 === 0;
}
