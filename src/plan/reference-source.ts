import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The values of references. */
export interface ReferenceSource {
  readonly env: Environment;
  /** Folder that the paths of `${file:…}` resolve against. */
  readonly baseDir: string;
  /** Returns the content of a file without its last line end; `undefined` if it cannot be read. Each file is read only once, as it may be a pipe. */
  read(name: string): string | undefined;
}

/** Creates the source of the references in a file. */
export function referenceSource(env: Environment, baseDir: string): ReferenceSource {
  const contents = new Map<string, string | undefined>();
  return {
    env,
    baseDir,
    read: (name) => {
      const path = resolve(baseDir, name);
      if (!contents.has(path)) contents.set(path, contentOf(path));
      return contents.get(path);
    },
  };
}

/** Returns the absolute path of `${file:…}`. */
export function pathOf(name: string, { baseDir }: ReferenceSource): string {
  return resolve(baseDir, name);
}

/** Parses a text that is a single reference without a default, as required for credentials. */
export function referenceIn(text: string): { readonly kind: 'variable' | 'file'; readonly name: string } | undefined {
  const [, file, name] = /^\$\{(?:file:([^}]+)|([A-Za-z_][A-Za-z0-9_]*)(?::\?[^}]*)?)\}$/.exec(text) ?? [];
  if (file !== undefined) return { kind: 'file', name: file };
  return name === undefined ? undefined : { kind: 'variable', name };
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}
