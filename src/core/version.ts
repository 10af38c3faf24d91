import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
// By the package's own name, which is found from wherever a build puts this.
const manifest = 'leadstream/package.json';

/** The version of this package, as in `1.2.3`. */
export const version = (require(manifest) as { readonly version: string }).version;

/** Absolute path of a file that this package has beside its code. @param path Relative to its folder. */
export function packageFile(path: string): string {
  return join(dirname(require.resolve(manifest)), path);
}
