#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { keepCompiled, load } from './compiled.js';
import { setV8Flags } from './v8-flags.js';
import type * as Command from './process.js';

// A stalled chain or an empty event loop must not look like success: 0 must be earned.
process.exitCode = 1;

// Before anything is compiled: code compiled under other flags is ignored.
setV8Flags();

const caches = cacheFolder();
if (caches !== undefined) keepCompiled(caches, /^[a-z][a-z-]{0,19}$/.exec(process.argv[2] ?? '')?.[0] ?? 'other');

const { crash, runProcess } = load<typeof Command>(new URL('../command.cjs', import.meta.url));
process.once('uncaughtException', crash);
void runProcess((url) => import(url));

/** Returns the folder for caches, as for Node's own compile cache or else the user's; `undefined` if it is switched off, or does not exist. */
function cacheFolder(): string | undefined {
  const { NODE_COMPILE_CACHE: chosen, NODE_DISABLE_COMPILE_CACHE: off, XDG_CACHE_HOME: caches } = process.env;
  if (off) return undefined;
  try {
    const folder = chosen || caches || join(homedir(), '.cache');
    return existsSync(folder) ? folder : undefined;
  } catch {
    // A user that the system does not know, without HOME.
    return undefined;
  }
}
