import { dirname, join } from 'node:path';
import { nodeRequire } from './node-require.js';

// By the package's own name, which is found from wherever a build puts this.
const manifest = 'leadstream/package.json';

/** The version of this package, as in `1.2.3`. What is built has it in its code. */
export const version = (nodeRequire()(manifest) as { readonly version: string }).version;

/** Absolute path of a file that this package has beside its code. @param path Relative to its folder. */
export function packageFile(path: string): string {
  return join(dirname(nodeRequire().resolve(manifest)), path);
}
