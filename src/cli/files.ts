import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { LeadstreamError } from '../core/index.js';

/**
 * Returns the files that the words of a command line name. A shell has expanded patterns, unless they were quoted or there was no shell. In that case `*`, `?`,
 * `**`, `{a,b}` and `[ab]` mean the same here as in a shell. Names that begin with a dot match only patterns that begin with one.
 *
 * @returns Each file once, in the order of the words; the files of a pattern are sorted by name.
 * @throws {LeadstreamError} `E_USAGE` for a pattern that no file matches, and for a word among several that is no file. It may be anything typed by mistake, even
 * a key, so it is not repeated. A word with the name of a pipeline file is left to the code that opens it.
 */
export async function filesNamed(words: readonly string[], cwd: string): Promise<readonly string[]> {
  const missing = words.findIndex((word) => !isPattern(word) && !/\.(?:ya?ml|json)$/i.test(word) && !existsSync(resolve(cwd, word)));
  if (words.length > 1 && missing >= 0) throw new LeadstreamError('E_USAGE', `file ${missing + 1} of ${words.length} does not exist`);
  const isOne = (word: string) => !isPattern(word) || existsSync(resolve(cwd, word));
  if (words.every(isOne)) return unique(words, cwd);
  const { globSync } = await import('tinyglobby');
  const files = words.flatMap((word, index) => {
    if (isOne(word)) return [word];
    const found = globSync(word, { cwd, expandDirectories: false, ignore: '**/node_modules/**', absolute: isAbsolute(word) });
    if (found.length > 0) return found.toSorted();
    throw new LeadstreamError('E_USAGE', `no file matches ${words.length === 1 ? word : `word ${index + 1} of ${words.length}`}`);
  });
  return unique(files, cwd);
}

function unique(files: readonly string[], cwd: string): readonly string[] {
  const seen = new Set<string>();
  return files.filter((file) => seen.size < seen.add(resolve(cwd, file)).size);
}

/** Whether a word can stand for several files, or for one with another name. */
function isPattern(word: string): boolean {
  return /[*?[\]{}]/.test(word);
}
