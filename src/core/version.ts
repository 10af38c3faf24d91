import { createRequire } from 'node:module';

const about = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

/** The version of this package, as in `1.2.3`. */
export const version = about.version;
