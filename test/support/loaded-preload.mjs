/**
 * Records what a process loads: `node --import test/support/loaded-preload.mjs …` with the path of a file in `LOADED`. It gets a line for each
 * module, with its URL or path, and for each part of a bundle that ran, like `src/core/index.ts`. Threads record nothing.
 */
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
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

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true });

process.on('exit', () => {
  const lines = Object.keys(cache);
  session.post('Profiler.takePreciseCoverage', (_failure, { result }) => {
    // The bundler turns each module into a function named after its path.
    for (const { functions } of result)
      for (const { functionName, ranges } of functions)
        if (/^(?:src|node_modules)\/.*\.\w+$/.test(functionName) && ranges[0].count > 0) lines.push(functionName);
  });
  appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
});
