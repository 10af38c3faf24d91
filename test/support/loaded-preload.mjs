/**
 * Notes what a process loads: `node --import test/support/loaded-preload.mjs …` with the path of a file in `LOADED`, which gets a line for
 * each module, an address or a path. Threads note nothing.
 */
import { appendFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';

const file = process.env.LOADED;
const hooks = `
  import { appendFileSync } from 'node:fs';
  export async function load(url, context, next) {
    appendFileSync(${JSON.stringify(file)}, url + '\\n');
    return next(url, context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { cache } = createRequire(import.meta.url);
process.on('exit', () =>
  appendFileSync(
    file,
    Object.keys(cache)
      .map((path) => `${path}\n`)
      .join(''),
  ),
);
