import { createRequire } from 'node:module';
import { join } from 'node:path';

/** `require` from where this code is; from the working directory in a bundle of CommonJS, which does not tell. */
export function nodeRequire(): NodeJS.Require {
  const here: string | undefined = import.meta.url;
  return createRequire(here ?? join(process.cwd(), 'index.js'));
}
