import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { LeadstreamError, schema, SinkError } from '../core/index.js';
import { createOnce, jsonIn, type ObjectStore } from '../store/index.js';
import type { TableChange, TableFormat, TableVersion } from './format.js';
import { manifestIn, type Manifest } from './manifest.js';
import { manifestKey } from './store-table.js';

/** The object that names the current run of a plain table. */
export const pointerKey = '_latest.json';

const committed = schema((z) => z.object({ run: z.string().regex(/^[\w-]+$/), sha256: z.string() }));

const pointer = schema((z) =>
  z.object({
    version: z.literal(1),
    /** Counts up, and with the nonce makes every body different, so that an ETag never returns. */
    sequence: z.int().nonnegative(),
    nonce: z.string(),
    /** `null` before the first run. */
    current: committed().nullable(),
    /** Earlier runs whose objects are kept, the newest first. */
    kept: z.array(committed().extend({ replaced_at: z.iso.datetime() })),
    /** The last runs that committed, the newest first. */
    runs: z.array(z.string()),
  }),
);

type Pointer = z.output<ReturnType<typeof pointer>>;

interface PointerState {
  readonly pointer: Pointer;
  /** The ETag that the next commit replaces. */
  readonly etag: string;
}

type PointerVersion = TableVersion<PointerState>;

/** Time for which the objects of a replaced run stay for those who read them, in milliseconds, whatever `keep` says. */
const graceMs = 3_600_000;

/** Number of runs that a pointer remembers, for writers that must find out whether they committed. */
const maxRuns = 100;

/** Attempts at a commit that left the pointer as it was. */
const maxAttempts = 4;

/** Parquet files and manifests on an object store, and one pointer to the manifest of the current run: a conditional PUT of it is the commit. */
export class PointerFormat implements TableFormat<PointerState> {
  readonly kind = 'plain';

  constructor(private readonly objects: ObjectStore) {}

  /** Creates the pointer that the first commit replaces. */
  async create(): Promise<void> {
    const empty: Pointer = { version: 1, sequence: 0, nonce: randomUUID(), current: null, kept: [], runs: [] };
    await createOnce(this.objects, pointerKey, textOf(empty));
  }

  async load(): Promise<PointerVersion | undefined> {
    const state = await this.#read();
    return state && this.#versionOf(state);
  }

  commit(base: PointerVersion | undefined, change: TableChange): Promise<PointerVersion> {
    if (base === undefined) throw new SinkError('E_SINK_WRITE', `${this.#at} was removed`);
    const { pointer: before } = base.state;
    const { runId: run, sha256, keep } = change;
    return this.#swap(base, run, { ...before, current: { run, sha256 }, kept: keptOf(before, keep), runs: [run, ...before.runs] });
  }

  restore(base: PointerVersion, run: string): Promise<PointerVersion> {
    const { pointer: before } = base.state;
    const target = before.kept.find((each) => each.run === run);
    if (target === undefined) throw new SinkError('E_SINK_RUN', `${this.objects.root} has no kept run ${run}`);
    const kept = keptOf(before, Infinity).filter((each) => each.run !== run);
    return this.#swap(base, undefined, { ...before, current: { run, sha256: target.sha256 }, kept });
  }

  /** What the manifests of `dropped` runs name, and those of the others do not. */
  async expire({ state: { pointer: now } }: PointerVersion, _keep: number, dropped: readonly string[]): Promise<readonly string[]> {
    if (dropped.length === 0) return [];
    const stay = new Set<string>();
    for (const { run } of [...(now.current ? [now.current] : []), ...now.kept])
      for (const { name } of (await this.#manifest(run)).files) stay.add(name);
    const gone: string[] = [];
    for (const run of dropped) {
      // A run that lost is removed by itself, too.
      const files = (await this.#found(run))?.files ?? [];
      gone.push(...files.flatMap(({ name }) => (stay.has(name) ? [] : [name])));
    }
    return gone;
  }

  get #at(): string {
    return `${this.objects.root}/${pointerKey}`;
  }

  async #swap(base: PointerVersion, run: string | undefined, change: Pointer): Promise<PointerVersion> {
    const next = { ...change, sequence: base.sequence + 1, nonce: randomUUID(), runs: change.runs.slice(0, maxRuns) };
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await this.#versionOf({ pointer: next, etag: await this.objects.replace(pointerKey, textOf(next), base.state.etag) });
      } catch (failure) {
        // Whatever was answered, the attempt may have arrived, or may arrive yet.
        const now = await this.#read();
        if (now?.pointer.nonce === next.nonce || (run !== undefined && now?.pointer.runs.includes(run))) return this.#versionOf(now);
        if (now?.etag !== base.state.etag)
          throw new LeadstreamError(
            'E_RUN_LOCKED',
            `${this.objects.root}: another writer committed first; nothing of this run is published`,
          );
        if (attempts === maxAttempts) throw failure;
      }
    }
  }

  async #read(): Promise<PointerState | undefined> {
    const found = await this.objects.read(pointerKey);
    if (found === undefined) return undefined;
    const { data } = pointer().safeParse(jsonIn(found.bytes.toString('utf8')));
    if (data) return { pointer: data, etag: found.version };
    throw new SinkError('E_SINK_FOREIGN', `${this.#at} was not written by leadstream, or by another version of it`);
  }

  async #versionOf(state: PointerState): Promise<PointerVersion> {
    const { sequence, current, kept, runs } = state.pointer;
    const files = current ? (await this.#manifest(current.run)).files : [];
    return { sequence, current: current ?? undefined, kept, files, runs, state };
  }

  async #found(run: string): Promise<Manifest | undefined> {
    const found = await this.objects.read(manifestKey(run));
    return found && manifestIn(found.bytes.toString('utf8'));
  }

  async #manifest(run: string): Promise<Manifest> {
    const manifest = await this.#found(run);
    if (manifest?.run_id === run) return manifest;
    throw new SinkError('E_SINK_FOREIGN', `${this.objects.root}/${manifestKey(run)} cannot be read as the manifest of its run`);
  }
}

/** The newest `keep` earlier runs, and those replaced a moment ago. */
function keptOf({ current, kept }: Pointer, keep: number): Pointer['kept'] {
  const now = new Date();
  const all = [...(current ? [{ ...current, replaced_at: now.toISOString() }] : []), ...kept];
  return all.filter(({ replaced_at: at }, index) => index < keep || now.getTime() - Date.parse(at) < graceMs);
}

function textOf(content: Pointer): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}
