import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { schema, SinkError } from '../core/index.js';
import { decided, jsonIn, lostTo, type ObjectStore, writeOnce } from '../store/index.js';
import type { TableChange, TableFormat, TableVersion } from './format.js';
import type { Manifest } from './manifest.js';
import { manifestAt, manifestKey, namedOnlyIn, textAt } from './store-table.js';

/** The object that names the current run of a plain table, or of those in the folders next to it that are published together. */
export const pointerKey = '_latest.json';

/** Name of the link next to such tables of this machine, through which readers see all of them. */
export const viewName = 'current';

const committed = schema((z) => z.object({ run: z.string().regex(/^[\w-]+$/), sha256: z.string() }));

/** What readers see at a time. */
const published = schema((z) =>
  z.object({
    /** The sequence of the commit that published it; 0 before the first. */
    id: z.int().nonnegative(),
    /** That of what it replaced. */
    replaced: z.int().nonnegative(),
    /** The run of each table by its folder, which is empty for a table of its own. */
    tables: z.record(z.string(), committed()),
  }),
);

const content = schema((z) =>
  z.object({
    version: z.literal(1),
    /** Counts up, and with the nonce makes every body different, so that an ETag never returns. */
    sequence: z.int().nonnegative(),
    nonce: z.string(),
    current: published(),
    /** What was published earlier and whose objects are kept, the newest first. */
    kept: z.array(published().extend({ replaced_at: z.iso.datetime() })),
    /** The last runs that committed, the newest first. */
    runs: z.array(z.string()),
  }),
);

type Content = z.output<ReturnType<typeof content>>;
type Published = Content['current'];

export interface PointerState {
  readonly content: Content;
  /** The ETag that the next commit replaces. */
  readonly etag: string;
}

export type PointerVersion = TableVersion<PointerState>;

/** Time for which the objects of a replaced run stay for those who read them, in milliseconds, whatever `keep` says. */
const graceMs = 3_600_000;

/** Number of runs of each table that a pointer remembers, for writers that must find out whether they committed. */
const maxRuns = 100;

/** The file that says which runs are current: a conditional PUT of it commits a run of each of its tables. */
export class Pointer {
  /** @param tables The folders of all tables. Default: one, of its own. */
  constructor(
    readonly objects: ObjectStore,
    readonly tables: readonly string[] = [''],
  ) {}

  get path(): string {
    return this.objects.root;
  }

  /** Creates what the first commit replaces, unless it exists. */
  async create(): Promise<void> {
    const current = { id: 0, replaced: 0, tables: {} };
    const empty: Content = { version: 1, sequence: 0, nonce: randomUUID(), current, kept: [], runs: [] };
    await writeOnce(this.objects, pointerKey, textOf(empty));
  }

  /** @throws {SinkError} `E_SINK_FOREIGN` if there are tables that nobody would write. */
  async read(): Promise<PointerState | undefined> {
    const found = await this.objects.read(pointerKey);
    if (found === undefined) return undefined;
    const { data } = content().safeParse(jsonIn(found.bytes.toString('utf8')));
    if (data === undefined)
      throw new SinkError('E_SINK_FOREIGN', `${this.path}/${pointerKey} was not written by leadstream, or by another version of it`);
    const other = Object.keys(data.current.tables).find((name) => !this.tables.includes(name));
    if (other === undefined) return { content: data, etag: found.version };
    const what = other === '' ? 'is a table' : `has the table ${other}, which is published together with others; name it`;
    throw new SinkError('E_SINK_FOREIGN', `${this.path} ${what}, or choose another folder`);
  }

  /** Commits a run of each of some tables. @throws {LeadstreamError} `E_RUN_LOCKED` if another writer committed first. */
  async commit(base: PointerState, changes: ReadonlyMap<string, TableChange>): Promise<PointerState> {
    const { current, sequence } = base.content;
    const changed = Object.fromEntries([...changes].map(([table, { runId: run, sha256 }]) => [table, { run, sha256 }]));
    const next = { id: sequence + 1, replaced: current.id, tables: { ...current.tables, ...changed } };
    const all = [...changes.values()];
    const kept = keptOf(base.content, Math.max(...all.map(({ keep }) => keep)));
    return this.#swap(base, { ...base.content, current: next, kept }, [...new Set(all.map(({ runId }) => runId))]);
  }

  /** Finds what was published when a run was current. Default: what the current runs replaced. @throws {SinkError} `E_SINK_RUN`. */
  keptAt({ content: { current, kept } }: PointerState, run: string | undefined): Published {
    const isWanted = ({ id, tables }: Published) => (run === undefined ? id === current.replaced : runsOf(tables).includes(run));
    const found = kept.find(isWanted);
    if (found) return found;
    const runs = kept.map(({ tables }) => runsOf(tables).at(-1)).join(', ') || 'none';
    throw new SinkError('E_SINK_RUN', `${this.path} has no kept run ${run ?? 'before the published one'}; kept runs: ${runs}`);
  }

  async restore(base: PointerState, { id, replaced, tables }: Published): Promise<PointerState> {
    const kept = keptOf(base.content, Infinity).filter((each) => each.id !== id);
    return this.#swap(base, { ...base.content, current: { id, replaced, tables }, kept }, []);
  }

  async #swap(base: PointerState, change: Content, committing: readonly string[]): Promise<PointerState> {
    const runs = [...committing, ...change.runs].slice(0, maxRuns * this.tables.length);
    const next = { ...change, sequence: base.content.sequence + 1, nonce: randomUUID(), runs };
    const write = async () => ({ content: next, etag: await this.objects.replace(pointerKey, textOf(next), base.etag) });
    return decided(this.objects, `${this.path}/${pointerKey}`, write, async () => {
      // The attempt may have arrived, or may still arrive, whatever the answer was.
      const now = await this.read();
      if (now?.content.nonce === next.nonce || committing.some((run) => now?.content.runs.includes(run))) return now ?? base;
      if (now?.content.nonce !== base.content.nonce) throw lostTo(this.path);
      return 'no trace';
    });
  }
}

/** Parquet files and manifests on an object store, and a pointer to the manifest of the current run. */
export class PointerFormat implements TableFormat<PointerState> {
  readonly kind = 'plain';
  #isCreated = false;

  /** @param table Its folder, if it is published together with others. */
  constructor(
    private readonly objects: ObjectStore,
    readonly pointer = new Pointer(objects),
    readonly table = '',
  ) {}

  async create(): Promise<void> {
    await this.pointer.create();
    this.#isCreated = true;
  }

  /** A table that joins others begins like one without a pointer. */
  async load(): Promise<PointerVersion | undefined> {
    const found = await this.pointer.read();
    const isKnown = this.table === '' || this.#isCreated || (found && tablesOf(found.content).includes(this.table));
    return found && isKnown ? this.versionOf(found) : undefined;
  }

  async commit(base: PointerVersion | undefined, change: TableChange): Promise<PointerVersion> {
    if (base === undefined) throw lostTo(this.pointer.path);
    return this.versionOf(await this.pointer.commit(base.state, new Map([[this.table, change]])));
  }

  async restore({ state }: PointerVersion, run: string): Promise<PointerVersion> {
    return this.versionOf(await this.pointer.restore(state, this.pointer.keptAt(state, run)));
  }

  /** Returns what only the manifests of `dropped` runs name. */
  async expire({ current, kept }: PointerVersion, _keep: number, dropped: readonly string[]): Promise<readonly string[]> {
    if (dropped.length === 0) return [];
    const stay: Manifest[] = [];
    for (const { run } of [...(current ? [current] : []), ...kept]) stay.push(await this.#manifest(run));
    const gone: Manifest[] = [];
    // A run that lost is removed by itself, too.
    for (const run of dropped) gone.push(...[(await manifestAt(this.objects, run)) ?? []].flat());
    return namedOnlyIn(gone, stay);
  }

  async versionOf(state: PointerState): Promise<PointerVersion> {
    const { sequence, current: now, kept: earlier, runs } = state.content;
    const of = ({ tables }: Published) => tables[this.table] ?? [];
    const [current] = [of(now)].flat();
    const known = new Map(earlier.flatMap(of).map((each) => [each.run, each]));
    if (current) known.delete(current.run);
    const files = current ? (await this.#manifest(current.run)).files : [];
    return {
      sequence,
      current,
      kept: [...known.values()],
      files,
      runs: [...runs, ...known.keys(), ...(current ? [current.run] : [])],
      state,
    };
  }

  async #manifest(run: string): Promise<Manifest> {
    const manifest = await manifestAt(this.objects, run);
    if (manifest?.run_id === run) return manifest;
    throw new SinkError('E_SINK_FOREIGN', `${this.objects.root}/${manifestKey(run)} cannot be read as the manifest of its run`);
  }
}

/** Returns the pointer of tables that are published together. */
export async function pointerOfSeveral(objects: ObjectStore): Promise<Pointer | undefined> {
  const { data } = content().safeParse(jsonIn(await textAt(objects, pointerKey)));
  const tables = data ? tablesOf(data) : [''];
  return tables.includes('') ? undefined : new Pointer(objects, tables);
}

/** The tables that are published, or were before a rollback to when they had not joined yet. */
function tablesOf({ current, kept }: Content): readonly string[] {
  return [...new Set([current, ...kept].flatMap(({ tables }) => Object.keys(tables)))];
}

/** The runs of tables, in the order of time. */
export function runsOf(tables: Published['tables']): readonly string[] {
  return Object.values(tables)
    .map(({ run }) => run)
    .sort();
}

/** Returns what the newest `keep` commits published earlier, and what was replaced a moment ago. */
function keptOf({ current, kept }: Content, keep: number): Content['kept'] {
  const now = new Date();
  const all = [...(current.id > 0 ? [{ ...current, replaced_at: now.toISOString() }] : []), ...kept];
  return all.filter(({ replaced_at: at }, index) => index < keep || now.getTime() - Date.parse(at) < graceMs);
}

function textOf(pointer: Content): string {
  return `${JSON.stringify(pointer, null, 2)}\n`;
}
