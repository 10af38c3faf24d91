import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// By the package's own name, which resolves wherever a build puts this file.
const manifest = 'leadstream/package.json';

/** The version of this package, such as `1.2.3`. Builds embed it in the code. */
export const version = (nodeRequire()(manifest) as { readonly version: string }).version;

/** Returns the absolute path of a file shipped with the package's code. @param path Relative to its folder. */
export function packageFile(path: string): string {
  return join(dirname(nodeRequire().resolve(manifest)), path);
}

/** Returns `require` for this file; in a CommonJS bundle, which does not provide its location, for the working directory. */
export function nodeRequire(): NodeJS.Require {
  const here: string | undefined = import.meta.url;
  return createRequire(here ?? join(process.cwd(), 'index.js'));
}
