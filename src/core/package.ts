import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { z } from 'zod';

// The package's own name resolves wherever a build puts this file.
const manifest = 'leadstream/package.json';

/** The version of this package, which builds embed in the code. */
export const version = (nodeRequire()(manifest) as { readonly version: string }).version;

/** Returns the absolute path of a file shipped with the code. @param path Relative to the package's folder. */
export function packageFile(path: string): string {
  return join(dirname(nodeRequire().resolve(manifest)), path);
}

/** Returns `require` for this file; in a CommonJS bundle, for the working directory. */
export function nodeRequire(): NodeJS.Require {
  const here: string | undefined = import.meta.url;
  return createRequire(here ?? join(process.cwd(), 'index.js'));
}

/** Describes how to install a missing package; `undefined` if it is installed. @param install With its version. */
export function missingPackage(name: string, what: string, install = name): string | undefined {
  try {
    nodeRequire().resolve(name);
    return undefined;
  } catch {
    return `${what} needs a package that is not installed: npm install ${install}`;
  }
}

export type Zod = typeof z;

/** Builds schemas at first use, and caches them. All are built this way: loading zod takes longer than all else that most programs load. */
export function schema<T>(build: (z: Zod) => T): () => T {
  let built: { readonly value: T } | undefined;
  return () => (built ??= { value: build(zod()) }).value;
}

/** Requires zod at the first call. Only here, because another import would load a second copy. */
export function zod(): Zod {
  loaded ??= (nodeRequire()('zod') as { readonly z: Zod }).z;
  return loaded;
}

let loaded: Zod | undefined;
