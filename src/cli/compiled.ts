import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/** Lets `load` keep what it compiles in a folder, in this thread and in those that it starts. */
export function keepCompiled(folder: string): void {
  setEnvironmentData(keptIn, folder);
}

const keptIn = 'leadstream.compiled';

/**
 * Loads a bundle of CommonJS by what V8 compiled of it in an earlier process. Of the start of a command, compiling is the largest part, and what the
 * compile cache of Node (from 22.1 on) keeps is what was compiled while a file was loaded: a third of it. Where nothing can be read or kept, it is loaded
 * all the same.
 *
 * @param digest Of the bundle: what was compiled of others counts for nothing, and V8 compares no more than their length.
 * @returns What it exports. `import` is nothing in it: it has the packages, and `require`.
 */
export function load<T>(file: URL, digest: string): T {
  const path = fileURLToPath(file);
  const folder = getEnvironmentData(keptIn);
  if (typeof folder !== 'string') return createRequire(path)(path) as T;
  const kept = join(folder, `${basename(path)}-${process.version}-${digest}`);
  const cachedData = intactIn(kept);
  // The bundler writes ASCII alone, where every byte is a character.
  const source = readFileSync(path, 'latin1');
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: path,
    ...(cachedData && { cachedData }),
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...scope: unknown[]) => void;
  run(module.exports, createRequire(path), module, path, dirname(path));
  if (cachedData === undefined || script.cachedDataRejected) whenWarm(() => replace(kept, script.createCachedData()));
  return module.exports as T;
}

/** Keeps what was compiled by then: of a command that went well, and of a thread, which is not told that it ends, after its first work. */
function whenWarm(keep: () => void): void {
  if (isMainThread) process.once('exit', (code) => code === 0 && keep());
  else setTimeout(keep, 300).unref();
}

/** The data of a file, which stand behind their digest: V8 would take damaged ones as they are. */
function intactIn(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(digestBytes);
    return digestOf(data).equals(bytes.subarray(0, digestBytes)) ? data : undefined;
  } catch {
    return undefined;
  }
}

function replace(file: string, data: Buffer): void {
  const partial = `${file}.${process.pid}.partial`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(partial, Buffer.concat([digestOf(data), data]), { mode: 0o600 });
    renameSync(partial, file);
    removeOld(dirname(file));
  } catch {
    // The next process compiles again.
  }
}

/** Removes what versions before this one have left, and processes that were killed. */
function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > maxAgeMs) rmSync(path);
  }
}

const digestBytes = 32;
const maxAgeMs = 30 * 24 * 60 * 60 * 1_000;

function digestOf(data: Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}
