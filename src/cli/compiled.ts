import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { cacheName, CodeCache } from './code-cache.js';

/**
 * Makes `load` keep what it compiles, in this thread and in the threads that it starts.
 *
 * @param base An existing folder for caches.
 * @param verb The command, each of which has compiled code of its own.
 */
export function keepCompiled(base: string, verb: string): void {
  setEnvironmentData(keptIn, [base, verb]);
}

const keptIn = 'leadstream.compiled';

/**
 * Loads a CommonJS bundle with the code that V8 compiled in an earlier process. Compiling is the largest part of starting a command, and Node's own compile
 * cache (from 22.1) keeps only what was compiled while a file was loaded: a third of it. The bundle loads even if nothing can be read or kept.
 *
 * @returns The exports of the bundle. It cannot use `import`: it contains its packages and has `require`.
 */
export function load<T>(file: URL): T {
  const path = fileURLToPath(file);
  const kept = getEnvironmentData(keptIn);
  if (!Array.isArray(kept)) return createRequire(path)(path) as T;
  const [base, verb] = kept as [string, string];
  const cache = new CodeCache(base, verb);
  const source = readFileSync(path);
  const name = cacheName(basename(path), source);
  const cachedData = cache.read(name);
  // The bundler writes only ASCII, so every byte is a character.
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source.toString('latin1')}\n})`, {
    filename: path,
    ...(cachedData && { cachedData }),
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...scope: unknown[]) => void;
  run(module.exports, createRequire(path), module, path, dirname(path));
  if (cachedData === undefined || script.cachedDataRejected) whenWarm(() => cache.write(name, script.createCachedData()));
  return module.exports as T;
}

/** Keeps what has been compiled: for a command, when it exits successfully; for a thread, which is not notified of its end, after its first work. */
function whenWarm(keep: () => void): void {
  if (isMainThread) process.once('exit', (code) => code === 0 && keep());
  else setTimeout(keep, 300).unref();
}
