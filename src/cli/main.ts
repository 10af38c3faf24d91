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

/** Lets Node (from 22.1) keep compiled code in the user's cache folder, where nobody else can write what gets executed. */
function keepCompiled(): void {
  const { enableCompileCache }: typeof module & { readonly enableCompileCache?: (folder: string) => unknown } = module;
  if (!enableCompileCache) return;
  try {
    const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'leadstream');
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    if (uid === (process.geteuid?.() ?? uid) && (mode & 0o077) === 0) enableCompileCache(folder);
  } catch {
    // Without a home folder, or permission to write there, nothing is kept.
  }
}

/**
 * Sets V8 up for short programs and streams of pages; none of these is a limit.
 *
 * - The heap may grow to twice its live data, not four times: joins into Parquet of 100,000 leads take 240 MB at peak, not 325, for 2 to 4 % more CPU time.
 * - The fetching thread has almost no live data: it may collect 64 MB of garbage, which saves 1.4 to 2 s of CPU time with a million leads.
 * - V8 11 (Node 20) optimizes later and inlines less: with 10,000 leads that saves 0.45 s of CPU time, and 500,000 take as long as before.
 */
function setV8Flags(): void {
  // Read when a heap is created: this thread has its own already.
  setFlagsFromString('--initial-old-space-size=64');
  if (process.versions.v8.startsWith('11.')) {
    setFlagsFromString('--interrupt-budget=400000');
    setFlagsFromString('--max-inlined-bytecode-size-cumulative=200');
    setFlagsFromString('--wasm-tiering-budget=13000000');
  }
  setTimeout(() => setFlagsFromString('--heap-growing-percent=100'), 1_000).unref();
  // Compiled code is valid only under the same flags, and the next process starts as this one did.
  process.once('exit', () => setFlagsFromString('--heap-growing-percent=0'));
}
