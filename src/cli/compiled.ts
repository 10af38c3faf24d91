import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/** Makes `load` keep what it compiles in a folder, in this thread and in the threads that it starts. */
export function keepCompiled(folder: string): void {
  setEnvironmentData(keptIn, folder);
}

const keptIn = 'leadstream.compiled';

/**
 * Loads a CommonJS bundle with the code that V8 compiled in an earlier process. Compiling is the largest part of starting a command, and Node's own compile
 * cache (from 22.1) keeps only what was compiled while a file was loaded: a third of it. The bundle loads even if nothing can be read or kept.
 *
 * @param digest Digest of the bundle: code compiled from another one is ignored, and V8 itself compares only the length.
 * @returns The exports of the bundle. It cannot use `import`: it contains its packages and has `require`.
 */
export function load<T>(file: URL, digest: string): T {
  const path = fileURLToPath(file);
  const folder = getEnvironmentData(keptIn);
  if (typeof folder !== 'string') return createRequire(path)(path) as T;
  const kept = join(folder, `${basename(path)}-${process.version}-${digest}`);
  const cachedData = intactIn(kept);
  // The bundler writes only ASCII, so every byte is a character.
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

/** Keeps what has been compiled: for a command, when it exits successfully; for a thread, which is not notified of its end, after its first work. */
function whenWarm(keep: () => void): void {
  if (isMainThread) process.once('exit', (code) => code === 0 && keep());
  else setTimeout(keep, 300).unref();
}

/** Returns the data of a file if it matches the digest in front of it: V8 would accept damaged data. */
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

/** Removes what earlier versions and killed processes left behind. */
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
