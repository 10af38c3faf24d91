import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { z } from 'zod';
import { LeadstreamError, schema } from '../core/index.js';
import { errnoOf } from './failure.js';
import { randomId } from './files.js';

/** The owner in a lock file. */
export const owner = schema((z) => {
  /** Text that a message can show, whoever wrote the file. */
  const plain = z.string().regex(/^\P{C}{1,255}$/u);
  return z.object({
    id: z.string().regex(/^[0-9a-f]{16}$/),
    run: plain,
    host: plain,
    /** Scope of process ids: on Linux, boot and pid namespace, as containers share host names and ids; `null` if unknown; else empty. */
    space: z.string().nullable(),
    pid: z.int().positive(),
    /** Start of the process in clock ticks since boot (proc_pid_stat(5), field 22), to detect a reused process id. */
    started: z.string().nullable(),
    /** When the lock was taken, ISO 8601. */
    since: plain,
  });
});

export type Owner = z.output<ReturnType<typeof owner>>;

/** An owner that cannot be checked counts as dead if its last heartbeat is older, or as far in the future: then clocks disagree. */
export const silenceMs = 60_000;

export function lockedBy(output: string, other: Owner | undefined): LeadstreamError {
  const who = other ? `run ${other.run} (host ${other.host}, process ${other.pid}) since ${other.since}` : 'an unknown run';
  return new LeadstreamError('E_RUN_LOCKED', `${output} is held by ${who}`);
}

export async function thisProcess(run: string): Promise<Owner> {
  const started = (await processStat(process.pid))?.started ?? null;
  return { id: randomId(), run, host: hostname(), space: await processSpace(), pid: process.pid, started, since: new Date().toISOString() };
}

/** Whether the owner's process lives; `undefined` if that cannot be determined here. */
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

/** States of a killed process that its parent has not reaped. */
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

/** The second field, the name, may contain spaces and brackets, so fields are counted after it. */
async function processStat(pid: number): Promise<{ state: string; started: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const started = rest[18];
  return state === undefined || started === undefined ? undefined : { state, started };
}
