import { LeadstreamError } from '../core/index.js';
import type { ObjectStores } from '../store/index.js';
import { Pointer } from './pointer.js';

/** The folder of tables that are published together, and those of the tables in it. */
export interface Together {
  readonly folder: string;
  readonly tables: readonly string[];
  /** The names of the pipelines that write them. */
  readonly pipelines: readonly string[];
}

/**
 * Lets the runs of several pipelines publish their tables together, once: each of them gets this object, and waits with its commit until all are ready.
 *
 * @throws {LeadstreamError} `E_USAGE` if a pipeline is missing.
 *
 * @example
 * const pipelines = await loadPipelines('night.yaml');
 * const sets = new TableSets(pipelines);
 * await Promise.all(pipelines.map((each) => runPipeline(each, { sets })));
 */
export class TableSets {
  readonly #pointers = new Map<string, Pointer>();
  /** Called when a run waits for others. */
  held: () => void = () => undefined;

  constructor(pipelines: readonly { readonly name: string; readonly together: Together | undefined }[]) {
    const missing = pipelines.find(({ together }) => together?.pipelines.some((name) => pipelines.every((each) => each.name !== name)));
    if (missing)
      throw new LeadstreamError('E_USAGE', `'${missing.name}' publishes together with other pipelines of its file; run all of them`);
  }

  at({ folder, tables }: Together, stores: ObjectStores): Pointer {
    const set = JSON.stringify([folder, ...tables]);
    const pointer = this.#pointers.get(set) ?? new Pointer(stores.at(folder, 0o644), tables, () => this.held());
    this.#pointers.set(set, pointer);
    return pointer;
  }

  /** Ends the wait of all runs for others that will not come. */
  fail(): void {
    for (const pointer of this.#pointers.values()) pointer.fail();
  }
}
