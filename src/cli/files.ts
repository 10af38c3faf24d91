import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LeadstreamError } from '../core/index.js';

/**
 * The files that words of a command line name. A shell has expanded patterns, unless they were quoted or there was no shell: `*` and `?`
 * stand for characters of a name, and `**` for any folders. Names that begin with a dot match only what begins with one.
 *
 * @returns Each file once, in the order of the words, and those of a pattern by their names.
 * @throws {LeadstreamError} `E_USAGE` for a pattern that no file matches.
 */
export function filesNamed(words: readonly string[], cwd: string): readonly string[] {
  const files = words.flatMap((word) => {
    if (!/[*?]/.test(word) || existsSync(resolve(cwd, word))) return [word];
    const found = matching(word, cwd);
    if (found.length === 0) throw new LeadstreamError('E_USAGE', `no file matches ${word}`);
    return found;
  });
  const seen = new Set<string>();
  return files.filter((file) => seen.size < seen.add(resolve(cwd, file)).size);
}

function matching(pattern: string, cwd: string): readonly string[] {
  const [first = '', ...parts] = pattern.split('/');
  const root = first === '' ? '/' : '';
  const names = first === '' ? parts : [first, ...parts];
  return below(
    root,
    names.filter((name) => name !== ''),
    cwd,
  ).toSorted();
}

/** The files below a folder that the rest of a pattern matches, as they are named from the working directory. */
function below(folder: string, [name, ...rest]: readonly string[], cwd: string): readonly string[] {
  if (name === undefined) return [];
  const within = (inner: string) => (rest.length === 0 ? [inner] : below(inner, rest, cwd));
  if (!/[*?]/.test(name)) return existsSync(resolve(cwd, folder, name)) ? within(join(folder, name)) : [];
  const entries = readdirSync(resolve(cwd, folder), { withFileTypes: true });
  if (name !== '**') {
    const found = entries.filter((entry) => matches(entry.name, name) && (rest.length > 0 || !entry.isDirectory()));
    return found.filter((entry) => rest.length === 0 || entry.isDirectory()).flatMap((entry) => within(join(folder, entry.name)));
  }
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules');
  const deeper = folders.flatMap((entry) => below(join(folder, entry.name), [name, ...rest], cwd));
  return [...new Set([...below(folder, rest.length === 0 ? ['*'] : rest, cwd), ...deeper])];
}

function matches(name: string, pattern: string): boolean {
  if (name.startsWith('.') && !pattern.startsWith('.')) return false;
  const expression = pattern.replaceAll(/[^*?]/g, (character) => character.replace(/[\\^$.+()[\]{}|]/, String.raw`\$&`));
  return new RegExp(`^${expression.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(name);
}
