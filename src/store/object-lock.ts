import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError, schema, SinkError, stoppedBy } from '../core/index.js';
import { jsonIn, randomId } from './files.js';
import { type ObjectStores, type StoredObject, writeOnce } from './objects.js';
import { lives, lockedBy, owner, silenceMs, type Owner } from './owner.js';

export interface ObjectLockOptions {
  /** Run named in the locks. */
  readonly runId: string;
  /** Needed for outputs on a store. */
  readonly stores?: ObjectStores;
  /** Milliseconds between two heartbeats. Default 15,000. */
  readonly heartbeatMs?: number;
  /** Milliseconds of silence after which another host's lock may be taken over. Default one minute. */
  readonly quietMs?: number;
}

export interface HeldLock {
  readonly output: string;
  holder(): Promise<Owner | undefined>;
  /** Never rejects. */
  beat(): Promise<void>;
  /** Also removes what was created for the lock. Never rejects; may be called twice. */
  release(): Promise<void>;
}

/** The content of a lock object, which stays after its release, without an owner. Every heartbeat changes it. */
const content = schema((z) => z.object({ owner: owner().nullable(), at: z.iso.datetime(), nonce: z.string() }));

/**
 * Takes the lock of an output on a store, the object `.<name>.lock` next to it. It only saves work: the conditional commit of the output
 * decides. A dead process's lock on this machine is taken over at once. If another's last heartbeat seems a minute old, it is observed,
 * because clocks differ, and taken over when it stands still for a minute by this machine's clock.
 */
export async function lockObject(output: string, mine: Owner, options: ObjectLockOptions): Promise<HeldLock> {
  const { stores, quietMs = silenceMs } = options;
  if (!stores) throw new LeadstreamError('E_RUN_FAILED', `${output} is locked without its store`);
  const { store, key: name } = stores.above(output);
  await stores.check(store);
  const key = `.${name}.lock`;

  async function isHeld({ bytes }: StoredObject, other: Owner, at: string): Promise<boolean> {
    if ((await lives(other)) === false) return false;
    if (Math.abs(Date.now() - Date.parse(at)) <= quietMs) return true;
    await wait(quietMs, undefined, { signal: store.signal }).catch(() => undefined);
    if (store.signal?.aborted) throw stoppedBy(store.signal, `the run was stopped; it waited for the lock of ${output}`);
    return (await store.read(key))?.bytes.equals(bytes) !== true;
  }

  async function holder(): Promise<Owner | undefined> {
    const found = await store.read(key);
    return (found && contentIn(found, output).owner) ?? undefined;
  }

  async function rewrite(next: Owner | null): Promise<void> {
    const found = await store.read(key);
    if (found && contentIn(found, output).owner?.id === mine.id) await writeOnce(store, key, contentOf(next), found.version);
  }

  const before = await store.read(key);
  if (before) {
    const { owner: other, at } = contentIn(before, output);
    if (other && (await isHeld(before, other, at))) throw lockedBy(output, other);
  }
  if ((await writeOnce(store, key, contentOf(mine), before?.version)) === undefined) {
    const faster = await holder();
    if (faster?.id !== mine.id) throw lockedBy(output, faster);
  }
  let last = Promise.resolve();
  const inOrder = (next: Owner | null) => (last = last.then(() => rewrite(next)).catch(() => undefined));
  return { output, holder, beat: () => inOrder(mine), release: () => inOrder(null) };
}

function contentOf(holder: Owner | null): string {
  return `${JSON.stringify({ owner: holder, at: new Date().toISOString(), nonce: randomId() })}\n`;
}

function contentIn({ bytes }: StoredObject, output: string) {
  const { data } = content().safeParse(jsonIn(bytes.toString()));
  if (data) return data;
  throw new SinkError('E_SINK_FOREIGN', `${output} cannot be locked: the object of its lock is not one made by leadstream; remove it`);
}
