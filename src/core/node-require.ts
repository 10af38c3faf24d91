import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Returns `require` for this file; in a CommonJS bundle, which does not provide its location, for the working directory. */
export function nodeRequire(): NodeJS.Require {
  const here: string | undefined = import.meta.url;
  return createRequire(here ?? join(process.cwd(), 'index.js'));
}
