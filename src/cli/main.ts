#!/usr/bin/env node
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type * as Command from './process.js';

// 1 until everything is published: a stalled chain or an empty event loop must not look like success.
process.exitCode = 1;

// Before anything is compiled: code compiled under other flags is ignored.
setV8Flags();
keepCompiled();

const { crash, runProcess } = createRequire(import.meta.url)('../command.cjs') as typeof Command;
process.once('uncaughtException', crash);
void runProcess();

/** Lets Node keep compiled code (from 22.1) below the user's cache folder: it gets executed, so nobody else may be able to write it. */
function keepCompiled(): void {
  const { enableCompileCache }: typeof module & { readonly enableCompileCache?: (folder: string) => unknown } = module;
  if (!enableCompileCache) return;
  try {
    const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'leadstream');
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    if (uid === (process.geteuid?.() ?? uid) && (mode & 0o077) === 0) enableCompileCache(folder);
  } catch {
    // Nothing is kept without a home folder or permission to write there.
  }
}

/**
 * Sets V8 up for commands: short programs, and streams of pages. The flags apply to the whole process, so only the command sets them.
 *
 * - The heap of a longer process may grow to twice its live data before old garbage is collected. By default, V8 waits for up to four times that, all of which
 *   a stream of pages uses: joins into Parquet of 100,000 leads took 325 MB at peak, then 240 MB, for 2 to 4 % more CPU time. A process that ends within a
 *   second has better uses for its time.
 * - The fetching thread has almost no live data and may collect 64 MB of garbage. Without this, a million leads took it 130 to 160 full collections instead of
 *   26, and the process 1.4 to 2 s more CPU time.
 * - V8 11 (Node 20) optimizes functions six times as late and inlines a fifth as much code into them, and optimizes WebAssembly when V8 12 does. A run of
 *   10,000 leads spent 0.7 s of CPU time on optimizing what was about to end, now 0.25; one of 500,000 takes as long as before.
 *
 * None of these is a limit: a pipeline may hold as much as it declares.
 */
function setV8Flags(): void {
  // Read when a heap is created: this thread already has its own.
  setFlagsFromString('--initial-old-space-size=64');
  if (process.versions.v8.startsWith('11.')) {
    setFlagsFromString('--interrupt-budget=400000');
    setFlagsFromString('--max-inlined-bytecode-size-cumulative=200');
    setFlagsFromString('--wasm-tiering-budget=13000000');
  }
  setTimeout(() => setFlagsFromString('--heap-growing-percent=100'), 1_000).unref();
  // Compiled code is valid only for a process with the same flags, and the next process starts as this one did.
  process.once('exit', () => setFlagsFromString('--heap-growing-percent=0'));
}
