import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** The resource usage that a measured process reports. */
export interface Usage {
  /** User and system time of the process with all its threads and finished children, in seconds. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, in bytes. */
  readonly peakRss: number;
  /** Number of worker threads started. */
  readonly workers: number;
}

let workers = 0;
process.on('worker', () => {
  workers += 1;
});

/** Loaded before a command (`node --import`), writes its usage to this file when the process ends. */
const file = process.env.LEADSTREAM_BENCH_USAGE;
if (isMainThread && file !== undefined) process.on('exit', () => writeFileSync(file, JSON.stringify(usage())));

/**
 * Returns the usage of this process so far.
 *
 * The peak is Linux's `VmHWM`, because `maxRSS` starts with the memory of the parent at the fork; on other systems it is `maxRSS`. Children are
 * counted from `/proc/self/stat`, in ticks of 10 ms.
 */
export function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6 + childSeconds(), peakRss: peakRss(), workers };
}

function peakRss(): number {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(textOf('/proc/self/status'))?.[1];
  return 1024 * (peak === undefined ? process.resourceUsage().maxRSS : Number(peak));
}

/** Fields 16 and 17 (cutime, cstime), counted from the command's closing parenthesis, which is the end of field 2. */
function childSeconds(): number {
  const fields = textOf('/proc/self/stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) / 100;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
