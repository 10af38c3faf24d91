import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SpecError, reasonOf } from '../../core/index.js';
import { errnoOf } from '../../store/index.js';
import { namesInLines } from './names-in.js';

/**
 * Reads the text of a pipeline file.
 *
 * @throws {SpecError} `E_SPEC_FILE` if it cannot be read, `E_SPEC_YAML` if it is not UTF-8.
 */
export async function fileText(file: string, { cwd = process.cwd() }: { readonly cwd?: string | undefined }): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(cwd, file));
  } catch (error) {
    throw new SpecError('E_SPEC_FILE', file, [{ message: unreadable(file, error), line: 1, column: 1 }]);
  }
  const encoding = marks.find(({ mark }) => bytes.subarray(0, mark.length).equals(mark))?.encoding;
  if (encoding !== undefined)
    throw new SpecError('E_SPEC_YAML', file, [{ message: `the file is ${encoding}; save it as UTF-8`, line: 1, column: 1 }]);
  const { text, what } = soundPart(bytes);
  if (what === undefined) return text;
  const before = text.split('\n');
  const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  throw new SpecError('E_SPEC_YAML', file, [{ message: `${what}; save the file as UTF-8`, ...place }], namesInLines(text));
}

function unreadable(file: string, error: unknown): string {
  const code = errnoOf(error);
  if (code === 'ENOENT') return 'cannot be read: there is no such file';
  if (code === 'EISDIR') return `is a folder; name the files in it, like ${file.replace(/\/$/, '')}/*.yaml`;
  return `cannot be read (${reasonOf(error)})`;
}

/** The first bytes of files with other encodings. */
const marks = [
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'UTF-16' },
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'UTF-16' },
] as const;

/** Returns the text of a file up to the first thing that is not text, and a description of that; `undefined` if everything is valid. */
function soundPart(bytes: Buffer): { readonly text: string; readonly what: string | undefined } {
  const nul = bytes.indexOf(0);
  const head = nul < 0 ? bytes : bytes.subarray(0, nul);
  if (!isUtf8(head)) return { text: soundStart(head), what: 'this is not UTF-8' };
  return { text: head.toString('utf8'), what: nul < 0 ? undefined : 'there is a NUL character, so this is not text' };
}

/** Returns the longest valid text at the start of bytes, found by bisection. */
function soundStart(bytes: Buffer): string {
  let [sound, wrong] = [0, bytes.length];
  while (wrong - sound > 1) {
    const middle = (sound + wrong) >> 1;
    if (decoded(bytes.subarray(0, middle)) === undefined) wrong = middle;
    else sound = middle;
  }
  return decoded(bytes.subarray(0, sound)) ?? '';
}

/** Decodes bytes, ignoring an incomplete character at the end; returns `undefined` if they are invalid. */
function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
