import { join } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import type { Pipeline } from '../plan/index.js';
import { type RunOptions, StateFolder } from '../run/index.js';
import { fixedPlace, type ObjectStore, PartialFile, ScratchFile, ScratchFolder, sha256File, Stores } from '../store/index.js';
import { DigestFile } from './digests.js';
import type { StoredPart } from './document.js';

/** The options of all processes of a run. */
export type PartOptions = Pick<RunOptions, 'signal' | 'stateDir'>;

/** The folder of a plan, on a store or of machines that share it, and a private folder of this machine. */
export class Work {
  #scratch: Promise<ScratchFolder> | undefined;
  readonly #files: ScratchFile[] = [];

  private constructor(
    readonly stores: Stores,
    readonly store: ObjectStore,
    private readonly state: StateFolder,
  ) {}

  /** @param place Where the plan is. */
  static async open({ store: settings, baseDir }: Pipeline, place: string, { signal, stateDir }: PartOptions): Promise<Work> {
    const stores = new Stores(settings, signal);
    const store = stores.at(fixedPlace(place, '--work', baseDir));
    await stores.check(store);
    return new Work(stores, store, new StateFolder(stateDir, baseDir));
  }

  /** Stores what is appended, under a name that is new. */
  async add(key: string, write: (file: PartialFile) => Promise<unknown>): Promise<StoredPart> {
    const path = await this.#pathOf(key);
    const file = await PartialFile.open(path, path);
    await write(file);
    await file.close();
    await this.store.upload(key, { path, ...file.content });
    await file.discard();
    return { key, ...file.content };
  }

  /** Returns the path of a copy. @throws {LeadstreamError} `E_SHARD_PLAN` if it is not what was stored. */
  async copyOf({ key, sha256 }: StoredPart): Promise<string> {
    const path = await this.#pathOf(key);
    await this.store.download(key, path);
    if ((await sha256File(path)) === sha256) return path;
    throw new LeadstreamError('E_SHARD_PLAN', `${this.store.root}/${key} is not what was stored there`);
  }

  /** Returns a copy of digests, which is closed with this folder. */
  async digestsOf(stored: StoredPart): Promise<DigestFile> {
    const file = await ScratchFile.reading(await this.copyOf(stored));
    this.#files.push(file);
    return new DigestFile(file, stored.bytes / 8);
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
    await (await this.#scratch)?.remove();
  }

  async #pathOf(key: string): Promise<string> {
    this.#scratch ??= ScratchFolder.open(this.state.folder('scratch'));
    return join((await this.#scratch).path, key.replaceAll('/', '-'));
  }
}
