import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { z } from 'zod';
import { schema } from '../core/index.js';
import { errnoOf } from './failure.js';

/** Who holds a lock, as the lock file says. */
export const owner = schema((z) => {
  /** What a message can show, whoever wrote the file. */
  const plain = z.string().regex(/^\P{C}{1,255}$/u);
  return z.object({
    /** Unique per lock. */
    id: z.string().regex(/^[0-9a-f]{16}$/),
    run: plain,
    host: plain,
    /**
     * Where process numbers mean the same: boot and pid namespace on Linux, because containers share names of hosts and
     * numbers of processes. `null` when the system does not tell; empty where there are no namespaces.
     */
    space: z.string().nullable(),
    pid: z.int().positive(),
    /** Start of the process in clock ticks since boot (proc_pid_stat(5), field 22), so that a number used again is seen. */
    started: z.string().nullable(),
    /** When the lock was taken, ISO 8601. */
    since: plain,
  });
});

export type Owner = z.output<ReturnType<typeof owner>>;

/** This process as the owner of a lock. */
export async function thisProcess(id: string, run: string): Promise<Owner> {
  const started = (await processStat(process.pid))?.started ?? null;
  return { id, run, host: hostname(), space: await processSpace(), pid: process.pid, started, since: new Date().toISOString() };
}

/** Whether the process of a owner lives; `undefined` when that cannot be told from here. */
export async function lives(other: Owner): Promise<boolean | undefined> {
  if (other.host !== hostname() || other.space === null || other.space !== (await processSpace())) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ESRCH') return false;
  }
  const stat = await processStat(other.pid);
  if (stat === undefined || other.started === null) return undefined;
  return stat.started === other.started && !ended.has(stat.state);
}

/** States of a process that was killed and that its parent has not yet taken note of. */
const ended: ReadonlySet<string> = new Set(['Z', 'X']);

async function processSpace(): Promise<string | null> {
  if (process.platform !== 'linux') return '';
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** State and start of a process. Its second field, the name, may hold spaces and brackets, so counting begins behind it. */
async function processStat(pid: number): Promise<{ state: string; started: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const started = rest[18];
  return state === undefined || started === undefined ? undefined : { state, started };
}
