/** Loaded before the command (`node --import`): leaves what the process used in the file LEADSTREAM_BENCH_USAGE when it ends. */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { usage } from './meter.js';

const file = process.env.LEADSTREAM_BENCH_USAGE;
if (isMainThread && file !== undefined) process.on('exit', () => writeFileSync(file, JSON.stringify(usage())));
