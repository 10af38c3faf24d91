import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What references stand for. */
export interface ReferenceSource {
  readonly env: Environment;
  /** Folder that the paths of `${file:…}` resolve against. */
  readonly baseDir: string;
  /** The content of a file without its last line end; `undefined` when it cannot be read. Each file is read once: it may be a pipe. */
  read(name: string): string | undefined;
}

/** What is wrong with something that ought to be an environment, in words; `process.env` itself is no plain object. */
export function environmentProblem(value: unknown): string | undefined {
  const isOne = typeof value === 'object' && value !== null && !Array.isArray(value);
  const hasTexts = isOne && Object.values(value).every((text) => text === undefined || typeof text === 'string');
  return hasTexts ? undefined : 'must be an object of texts, like process.env';
}

/** What the references of a file stand for. */
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

/** The absolute path of `${file:…}`. */
export function pathOf(name: string, { baseDir }: ReferenceSource): string {
  return resolve(baseDir, name);
}

/** What a text names that is a single reference without a default, as credentials are given. */
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
