#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { keepCompiled, load } from './compiled.js';
import { setV8Flags } from './v8-flags.js';
import type * as Command from './process.js';

/** Digest of the command's bundle, set by the build. */
declare const bundleDigest: string;

// A stalled chain or an empty event loop must not look like success: 0 must be earned.
process.exitCode = 1;

// Before anything is compiled: code compiled under other flags is ignored.
setV8Flags();

// In NODE_COMPILE_CACHE, or in the user's own folder, since what is there gets executed. Each command has its own folder, for the functions that it needs.
const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
const folder = process.env['NODE_COMPILE_CACHE'] || (existsSync(caches) && join(caches, 'leadstream'));
if (folder && !process.env['NODE_DISABLE_COMPILE_CACHE'])
  keepCompiled(join(folder, /^[a-z][a-z-]{0,19}$/.exec(process.argv[2] ?? '')?.[0] ?? 'other'));

const { crash, runProcess } = load<typeof Command>(new URL('../command.cjs', import.meta.url), bundleDigest);
process.once('uncaughtException', crash);
void runProcess((url) => import(url));
