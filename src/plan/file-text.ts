import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SpecError, reasonOf } from '../core/index.js';
import { errnoOf } from '../store/index.js';

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
  const text = bytes.toString('utf8');
  const wrong = text.indexOf(isUtf8(bytes) ? '\0' : '\uFFFD');
  if (wrong < 0) return text;
  const before = text.slice(0, wrong).split('\n');
  const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  throw new SpecError('E_SPEC_YAML', file, [{ message: 'this is not text in UTF-8; save the file as UTF-8', ...place }]);
}

function unreadable(file: string, error: unknown): string {
  const code = errnoOf(error);
  if (code === 'ENOENT') return 'cannot be read: there is no such file';
  if (code === 'EISDIR') return `is a folder; name the files in it, like ${file.replace(/\/$/, '')}/*.yaml`;
  return `cannot be read (${reasonOf(error)})`;
}
