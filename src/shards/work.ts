import { join } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { fixedPlace, type ObjectStore, PartialFile, ScratchFolder, sha256File, Stores } from '../store/index.js';
import type { Pipeline } from '../plan/index.js';

/** An object of a plan, which only its file names. */
export interface StoredPart {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The folder of a plan, on a store or of machines that share it, and a private folder of this machine. */
export class Work {
  private constructor(
    readonly store: ObjectStore,
    readonly scratch: ScratchFolder,
  ) {}

  /** @param place Where the plan is. @param scratch Private folder for such folders. */
  static async open({ store: settings, baseDir }: Pipeline, place: string, scratch: string, signal?: AbortSignal): Promise<Work> {
    const stores = new Stores(settings, signal);
    const store = stores.at(fixedPlace(place, '--work', baseDir));
    await stores.check(store);
    return new Work(store, await ScratchFolder.open(scratch));
  }

  /** Stores what is appended, under a name that is new. */
  async add(key: string, write: (file: PartialFile) => Promise<void>): Promise<StoredPart> {
    const path = join(this.scratch.path, key.replaceAll('/', '-'));
    const file = await PartialFile.open(path, path);
    await write(file);
    await file.close();
    await this.store.upload(key, { path, ...file.content });
    await file.discard();
    return { key, ...file.content };
  }

  /** Returns the path of a copy. @throws {LeadstreamError} `E_SHARD_PLAN` if it is not what was stored. */
  async copyOf({ key, sha256 }: StoredPart): Promise<string> {
    const path = join(this.scratch.path, key.replaceAll('/', '-'));
    await this.store.download(key, path);
    if ((await sha256File(path)) === sha256) return path;
    throw new LeadstreamError('E_SHARD_PLAN', `${this.store.root}/${key} is not what was stored there`);
  }

  async text(key: string): Promise<string | undefined> {
    return (await this.store.read(key))?.bytes.toString('utf8');
  }

  close(): Promise<void> {
    return this.scratch.remove();
  }
}

/** Returns a value as JSON, with what JSON lacks: whole numbers of any size, dates, bytes and maps. */
export function tagged(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, name, given: unknown) {
    const own = this[name];
    if (typeof own === 'bigint') return { $bigint: String(own) };
    if (Object.is(own, -0)) return { $number: '-0' };
    if (own instanceof Date) return { $date: own.toISOString() };
    if (own instanceof Map) return { $map: [...own] };
    if (own instanceof Uint8Array) return { $bytes: Buffer.from(own).toString('base64') };
    return given;
  });
}

export function untagged(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const [[tag, content] = [], ...others] = Object.entries(value);
    if (others.length > 0) return value;
    if (tag === '$bigint') return BigInt(String(content));
    if (tag === '$number') return Number(content);
    if (tag === '$date') return new Date(String(content));
    if (tag === '$bytes') return Buffer.from(String(content), 'base64');
    return tag === '$map' && Array.isArray(content) ? new Map(content as readonly (readonly [unknown, unknown])[]) : value;
  });
}
