#!/usr/bin/env node
// A chain that stalls or an event loop that runs dry must not look like success: 0 is earned.
process.exitCode = 1;

// Loaded behind the handler, so that nothing that goes wrong while it loads is printed raw.
const loading = import('./process.js');
process.once('uncaughtException', (error) => void loading.then(({ crash }) => crash(error)));
const { runProcess } = await loading;
await runProcess();
