#!/usr/bin/env node
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setV8Flags } from './v8-flags.js';
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
