import { LineCounter, isMap, isNode, isScalar, isSeq, parseAllDocuments, type Document, type Node } from 'yaml';
import { SpecError } from '../../core/index.js';
import { inherit, standingFirst } from './inherit.js';
import { namesInLines, namesOf } from './names-in.js';
import { placeInScalar } from './scalar-place.js';
import { gaveUp, troubleIn, type Trouble } from './yaml-trouble.js';

/** A path from the root of a pipeline file: keys and indexes. */
export type Path = readonly (string | number)[];

/** A pipeline file as read: plain maps, lists and strings, each with its position. */
export interface SpecDocument {
  readonly file: string;
  readonly value: unknown;
  /** Paths of values that were overridden and so are not in the file. */
  readonly overridden: readonly Path[];
  /** Returns whether a scalar is written without quotes, and not as a block. */
  isPlain(path: Path): boolean;
  /** Returns whether a value, or its nearest existing parent, is in the defaults of the file. */
  inherits(path: Path): boolean;
  /**
   * Returns the position of a value, or of its key with `onKey`; for a path that does not exist, that of its nearest existing parent. 1-based.
   *
   * @param at Index of a character within a text.
   */
  locate(path: Path, onKey?: boolean, at?: number): { readonly line: number; readonly column: number };
}

/** The documents of a file. */
export interface SpecDocuments {
  /** What the pipelines inherit, under the key `defaults`. */
  readonly defaults: SpecDocument | undefined;
  /** At least one; inherited values are included. */
  readonly pipelines: readonly SpecDocument[];
}

/**
 * Parses YAML: one specification per document of the file, and the defaults that they inherit. Empty documents are ignored. Scalars remain the text in the
 * file: `0123`, `yes` and `null` are names here, and a schema decides what is a number.
 *
 * @param overrides Values that replace those of the file in every pipeline, by path; missing lists and maps above them are created.
 * @throws {SpecError} `E_SPEC_YAML`, with the first error, and for a file without a pipeline; `E_SPEC_INVALID` for misplaced defaults.
 */
export function parseSpecDocuments(file: string, text: string, overrides: readonly { path: Path; value: string }[] = []): SpecDocuments {
  if (text.length > maxLength) {
    const size = (text.length / 2 ** 20).toFixed(1);
    throw new SpecError('E_SPEC_YAML', file, [
      { message: `the file is ${size} MB, and a pipeline file may be at most 1 MB; is this the right file?`, line: 1, column: 1 },
    ]);
  }
  const lines = new LineCounter();
  const options = { lineCounter: lines, schema: 'failsafe', uniqueKeys: true, prettyErrors: false, merge: false } as const;
  const refuse = ({ message, offset }: Trouble, names = namesInLines(text)) =>
    new SpecError('E_SPEC_YAML', file, [{ message, ...placeOf(lines, offset) }], names);
  const parsed = parseWhole(text, options, refuse);
  const trouble = troubleIn(text, parsed);
  if (trouble) throw refuse(trouble);
  const documents = parsed.filter((document) => !isEmpty(document));
  const names = namesOf(documents);
  const misplaced = standingFirst(documents).map(({ message, offset }) => ({ message, ...placeOf(lines, offset) }));
  if (misplaced.length > 0) throw new SpecError('E_SPEC_INVALID', file, misplaced, names);
  const defaults = documents[0]?.has('defaults') ? documents.shift() : undefined;
  const missing = whatIsNoPipeline(documents, defaults);
  if (missing) throw refuse(missing, names);

  const inFile = { file, text, lines, defaultsEnd: defaults?.contents?.range?.[2] ?? -1 };
  return {
    defaults: defaults && specOf(defaults, inFile, []),
    pipelines: documents.map((document) => {
      inherit(document, defaults);
      for (const { path, value } of overrides) override(document, { file, names }, path, value);
      return specOf(
        document,
        inFile,
        overrides.map(({ path }) => path),
      );
    }),
  };
}

/** What the documents of a file have in common. */
interface InFile {
  readonly file: string;
  readonly text: string;
  readonly lines: LineCounter;
  /** Offset of the end of the defaults, which come first; -1 without them. */
  readonly defaultsEnd: number;
}

function specOf(document: Document, { file, text, lines, defaultsEnd }: InFile, overridden: readonly Path[]): SpecDocument {
  const within = (path: Path, at: number) => {
    const node = document.getIn(path, true);
    return isScalar(node) && node.range ? placeInScalar(text, node, at) : undefined;
  };
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  return {
    file,
    overridden,
    value: value ?? {},
    isPlain: (path) => {
      const node = document.getIn(path, true);
      return isScalar(node) && (node.type === undefined || node.type === 'PLAIN');
    },
    inherits: (path) => offsetOf(document, path, false) < defaultsEnd,
    locate: (path, onKey = false, at) =>
      placeOf(lines, (at === undefined ? undefined : within(path, at)) ?? offsetOf(document, path, onKey)),
  };
}

/** Describes what is in place of a pipeline. */
function whatIsNoPipeline(documents: readonly Document[], defaults: Document | undefined): Trouble | undefined {
  if (documents.length === 0)
    return { offset: 0, message: `${defaults ? 'no pipeline follows the defaults' : 'the file is empty'}; ${needed}` };
  const other = documents.find(({ contents }) => !isMap(contents));
  if (!other) return undefined;
  const kind = isSeq(other.contents) ? 'a list' : 'text';
  return { offset: other.contents?.range?.[0] ?? 0, message: `this is ${kind}, not a pipeline; ${needed}` };
}

const needed = 'a pipeline is a map with name, from and to';

/** Characters; longer than any realistic file, and still fast to read. */
const maxLength = 2 ** 20;

function parseWhole(text: string, options: YamlOptions, refuse: (trouble: Trouble) => SpecError): readonly Document[] {
  try {
    return [...parseAllDocuments(text, options)];
  } catch (error) {
    throw refuse(gaveUp(text, error));
  }
}

type YamlOptions = Parameters<typeof parseAllDocuments>[1];

function placeOf(lines: LineCounter, offset: number): { readonly line: number; readonly column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** Returns whether a document is empty, as is often the case after the last `---`. */
function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.source === '');
}

function override(document: Document, of: { readonly file: string; readonly names: readonly string[] }, path: Path, value: string): void {
  try {
    // An entry may be appended to a list, but not beyond the next index.
    const gap = path.some((part, depth) => {
      const list = document.getIn(path.slice(0, depth), true);
      return typeof part === 'number' && part > (isSeq(list) ? list.items.length : 0);
    });
    if (gap) throw new RangeError();
    document.setIn(path, value);
  } catch {
    const message = `--set ${path.join('.')}: the file has no such place`;
    throw new SpecError('E_SPEC_INVALID', of.file, [{ message, line: 1, column: 1 }], of.names);
  }
}

function offsetOf(document: Document, path: Path, onKey: boolean): number {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const exact = depth === path.length;
    const node = document.getIn(path.slice(0, depth), true);
    const key = keyNode(document, path.slice(0, depth));
    const found = exact && onKey ? (key ?? node) : (node ?? key);
    if (isNode(found) && found.range) return startOf(found, key);
  }
  return document.contents?.range?.[0] ?? 0;
}

/** Returns where a node starts. An empty value has its range after the colon, so the position of its key is more helpful. */
function startOf(node: Node, key: Node | undefined): number {
  if (isScalar(node) && node.range && node.range[0] === node.range[1] && key?.range) return key.range[0];
  return node.range?.[0] ?? 0;
}

function keyNode(document: Document, path: Path): Node | undefined {
  const parent = document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  return isNode(pair?.key) ? pair.key : undefined;
}
