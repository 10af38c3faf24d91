import { LeadstreamError, onAbort, reasonOf, stoppedBy } from '../core/index.js';
import { isLocked, isRemote, lostTo, type ObjectStore, type ObjectStores, reworded } from '../store/index.js';
import type { TableChange, TableFormat } from './format.js';
import { Pointer, PointerFormat, pointerKey, pointerOfSeveral, type PointerState, type PointerVersion, viewName } from './pointer.js';
import { show } from './view.js';

/** The folder of tables that are published together, and those of the tables in it. */
export interface Together {
  readonly folder: string;
  readonly tables: readonly string[];
  /** The names of the pipelines that write them. */
  readonly pipelines: readonly string[];
}

/** A run of a pipeline whose tables are published together with others. */
export interface Participant {
  readonly barrier: CommitBarrier;
  /** Of the run, without its deadline: other tables may take longer. */
  readonly signal: AbortSignal | undefined;
}

/** What a run does to its table. */
interface Announced {
  readonly run: string;
  readonly base: PointerVersion | undefined;
  /** `undefined` if the table stays as it is. */
  readonly change: TableChange | undefined;
}

/** One publication of several tables: the runs that write them wait with their commits until all are ready; the last one commits for all. */
export class CommitBarrier {
  readonly #announced = new Map<string, Announced>();
  readonly #waiting = new Set<string>();
  readonly #end: Promise<PointerState>;
  #settle: (end: Promise<PointerState>) => void = () => undefined;
  #phase: 'open' | 'committing' | 'failed' = 'open';

  /** @param held Called when a run waits for others, with its id. */
  constructor(
    readonly pointer: Pointer,
    private readonly held: (run: string) => void = () => undefined,
  ) {
    this.#end = new Promise((resolve) => (this.#settle = resolve));
    this.#end.catch(() => undefined);
  }

  announce(table: string, announced: Announced): void {
    if (this.#phase !== 'open') throw this.#failure;
    this.#announced.set(table, announced);
  }

  /** Takes back what was announced. @returns Whether it may be committed all the same. */
  async withdraw(table: string): Promise<boolean> {
    this.#announced.delete(table);
    if (this.#phase !== 'committing') return false;
    return this.#end.then(Boolean, (failure: unknown) => !isLocked(failure));
  }

  /**
   * Commits the tables of all runs once each of these waits.
   *
   * @throws {LeadstreamError} `E_RUN_TOGETHER` after `fail`; `E_RUN_ABORTED` if the run was stopped while it waited; `E_RUN_LOCKED`.
   */
  async commit(run: string, signal: AbortSignal | undefined): Promise<PointerState> {
    if (signal?.aborted) this.fail();
    const forget = signal && onAbort(signal, () => this.fail());
    this.#waiting.add(run);
    if (this.#phase === 'open' && this.pointer.tables.every((table) => this.#waiting.has(this.#announced.get(table)?.run ?? ''))) {
      this.#phase = 'committing';
      this.#settle(this.#commit());
    }
    if (this.#phase === 'open') this.held(run);
    try {
      return await this.#end;
    } catch (failure) {
      if (this.#phase === 'failed' && signal?.aborted) throw stoppedBy(signal, 'the run was stopped; nothing was published');
      // Each run has an error of its own, which gets its report.
      throw reworded(failure, reasonOf(failure));
    } finally {
      forget?.();
    }
  }

  /** Gives the publication up, unless the commit has begun. */
  fail(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'failed';
    this.#settle(Promise.reject(this.#failure));
  }

  /** @throws {LeadstreamError} `E_RUN_TOGETHER` after `fail`. */
  refuseFailed(): void {
    if (this.#phase === 'failed') throw this.#failure;
  }

  get #failure(): LeadstreamError {
    return new LeadstreamError('E_RUN_TOGETHER', `nothing of ${this.pointer.path} is published, because not all of its tables are ready`);
  }

  async #commit(): Promise<PointerState> {
    const all = [...this.#announced];
    const [base] = all.flatMap(([, each]) => each.base?.state ?? []);
    if (base === undefined || all.some(([, each]) => each.base?.state.content.nonce !== base.content.nonce))
      throw lostTo(this.pointer.path);
    const changes = all.flatMap(([table, { change }]) => (change ? [[table, change] as const] : []));
    return changes.length === 0 ? base : this.pointer.commit(base, new Map(changes));
  }
}

/** A table of several that one pointer names. It can be read and compacted by itself. */
class SharedFormat extends PointerFormat {
  constructor(objects: ObjectStore, pointer: Pointer) {
    super(objects, pointer, objects.root.slice(pointer.path.length + 1));
  }

  get together(): string {
    return this.pointer.path;
  }

  show(): Promise<void> {
    return show(this.pointer);
  }
}

/** Finds the pointer in the folder above that names a table. */
export async function sharedFormat(objects: ObjectStore, stores: ObjectStores): Promise<TableFormat | undefined> {
  if (isRemote(objects.root) && (await objects.find(pointerKey)) !== undefined) return undefined;
  const { store, key } = stores.above(objects.root);
  const { tables = [] } = (await pointerOfSeveral(store)) ?? {};
  return tables.length > 0 && [...tables, viewName].includes(key) ? new SharedFormat(objects, new Pointer(store, tables)) : undefined;
}

/** One that is committed together with those of other runs. */
export class TogetherFormat extends SharedFormat {
  constructor(
    objects: ObjectStore,
    private readonly participant: Participant,
  ) {
    super(objects, participant.barrier.pointer);
  }

  override load(): Promise<PointerVersion | undefined> {
    this.participant.barrier.refuseFailed();
    return super.load();
  }

  announce(run: string, base: PointerVersion | undefined, change: TableChange | undefined): void {
    this.participant.barrier.announce(this.table, { run, base, change });
  }

  override async commit(_: PointerVersion | undefined, { runId }: TableChange): Promise<PointerVersion> {
    return this.versionOf(await this.stay(runId));
  }

  stay(run: string): Promise<PointerState> {
    return this.participant.barrier.commit(run, this.participant.signal);
  }

  withdraw(): Promise<boolean> {
    return this.participant.barrier.withdraw(this.table);
  }
}

/**
 * Lets the runs of several pipelines publish their tables together: each of them gets this object, and waits with its commit until all
 * are ready. Each pipeline takes part in a publication once; its next run begins another.
 *
 * @throws {LeadstreamError} `E_USAGE` if a pipeline is missing.
 *
 * @example
 * const pipelines = await loadPipelines('night.yaml');
 * const sets = new TableSets(pipelines);
 * await Promise.all(pipelines.map((each) => runPipeline(each, { sets })));
 */
export class TableSets {
  /** The newest barrier of each set, and the pipelines that have come to it. */
  readonly #barriers = new Map<string, { readonly barrier: CommitBarrier; readonly come: Set<string> }>();
  /** Called when a run waits for others. */
  held: () => void = () => undefined;
  /** @internal The same, with the id of the run. */
  heldRun: (run: string) => void = () => this.held();

  constructor(pipelines: readonly { readonly name: string; readonly together: Together | undefined }[]) {
    const missing = pipelines.find(({ together }) => together?.pipelines.some((name) => pipelines.every((each) => each.name !== name)));
    if (missing)
      throw new LeadstreamError('E_USAGE', `'${missing.name}' publishes together with other pipelines of its file; run all of them`);
  }

  /** Returns the barrier for the next run of a pipeline. */
  at({ folder, tables }: Together, pipeline: string, stores: ObjectStores): CommitBarrier {
    const set = JSON.stringify([folder, ...tables]);
    const newest = this.#barriers.get(set);
    if (newest && !newest.come.has(pipeline)) {
      newest.come.add(pipeline);
      return newest.barrier;
    }
    const barrier = new CommitBarrier(new Pointer(stores.at(folder, 0o644), tables), (run) => this.heldRun(run));
    this.#barriers.set(set, { barrier, come: new Set([pipeline]) });
    return barrier;
  }

  /** Ends the wait of all runs for others that will not come. */
  fail(): void {
    for (const { barrier } of this.#barriers.values()) barrier.fail();
  }
}
