#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// A chain that stalls or an event loop that runs dry must not look like success: 0 is earned.
process.exitCode = 1;

// From 22.1 on, Node can keep what it compiled: where NODE_COMPILE_CACHE says, or in the user's own folder, since what is there is run. Where
// it cannot, it goes on without a word.
const { enableCompileCache }: typeof module & { readonly enableCompileCache?: (folder: string) => unknown } = module;
const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
if (process.env['NODE_COMPILE_CACHE'] || existsSync(caches))
  enableCompileCache?.(process.env['NODE_COMPILE_CACHE'] || join(caches, 'leadstream'));

// Loaded behind the handler, so that nothing that goes wrong while it loads is printed raw.
const loading = import('./process.js');
process.once('uncaughtException', (error) => void loading.then(({ crash }) => crash(error)));
const { runProcess } = await loading;
await runProcess();
