#!/usr/bin/env node
import module from 'node:module';

// A chain that stalls or an event loop that runs dry must not look like success: 0 is earned.
process.exitCode = 1;

// From 22.1 on, Node can keep what it compiled, in the system's folder for such files or where NODE_COMPILE_CACHE says. Where it cannot,
// it goes on without a word.
const { enableCompileCache }: typeof module & { readonly enableCompileCache?: () => unknown } = module;
enableCompileCache?.();

// Loaded behind the handler, so that nothing that goes wrong while it loads is printed raw.
const loading = import('./process.js');
process.once('uncaughtException', (error) => void loading.then(({ crash }) => crash(error)));
const { runProcess } = await loading;
await runProcess();
