/** Loaded before the command (`node --import`): when the process ends, writes its usage to the file LEADSTREAM_BENCH_USAGE. */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { usage } from './meter.js';

const file = process.env.LEADSTREAM_BENCH_USAGE;
if (isMainThread && file !== undefined) process.on('exit', () => writeFileSync(file, JSON.stringify(usage())));
