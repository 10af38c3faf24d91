import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { globSync } from 'tinyglobby';
import { LeadstreamError } from '../core/index.js';

/**
 * The files that words of a command line name. A shell has expanded patterns, unless they were quoted or there was no shell: then `*`, `?`,
 * `**`, `{a,b}` and `[ab]` mean here what they mean there. Names that begin with a dot match only what begins with one.
 *
 * @returns Each file once, in the order of the words, and those of a pattern by their names.
 * @throws {LeadstreamError} `E_USAGE` for a pattern that no file matches.
 */
export function filesNamed(words: readonly string[], cwd: string): readonly string[] {
  const files = words.flatMap((word) => {
    if (!/[*?[\]{}]/.test(word) || existsSync(resolve(cwd, word))) return [word];
    const found = globSync(word, { cwd, expandDirectories: false, ignore: '**/node_modules/**', absolute: isAbsolute(word) });
    if (found.length === 0) throw new LeadstreamError('E_USAGE', `no file matches ${word}`);
    return found.toSorted();
  });
  const seen = new Set<string>();
  return files.filter((file) => seen.size < seen.add(resolve(cwd, file)).size);
}
