import type { z } from 'zod';
import { newRunId, schema, SinkError } from '../core/index.js';
import { type Action, jsonIn, type ObjectStore, ownFolder, sha256Text } from '../store/index.js';
import type { CommittedRun, FoundVersion, LinkedFormat, TableFormat, TableVersion } from './format.js';
import { type LiveFile, manifestIn, type Manifest, type ManifestFile, storedKeyOf } from './manifest.js';
import type { RunLog } from './run-log.js';

const runsFolder = `${ownFolder}runs/`;
const intentsFolder = `${ownFolder}intents/`;

export function manifestKey(run: string): string {
  return `${runsFolder}${run}.json`;
}

export function keysKey(run: string): string {
  return `${runsFolder}${run}.keys.bin`;
}

export function intentKey(run: string): string {
  return `${intentsFolder}${run}.json`;
}

/** The folder of the data files that a run wrote. */
export function dataPrefix(run: string): string {
  return `data/${run}/`;
}

/** What the keys of the files of a run begin with: its data, and its manifests of Iceberg. */
export function prefixesOf(run: string): readonly string[] {
  return [dataPrefix(run), `metadata/${run}-`];
}

export async function keysBelow(objects: ObjectStore, prefixes: readonly string[]): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const prefix of prefixes) for await (const { key } of objects.list(prefix)) keys.push(key);
  return keys;
}

/** Returns the text of an object; empty if it is missing. */
export async function textAt(objects: ObjectStore, key: string): Promise<string> {
  return (await objects.read(key))?.bytes.toString('utf8') ?? '';
}

/** Returns the manifest of a run; `undefined` if it is missing, or cannot be read. */
export async function manifestAt(objects: ObjectStore, run: string): Promise<Manifest | undefined> {
  return manifestIn(await textAt(objects, manifestKey(run)));
}

/** What a run leaves before its first data file, so that the next one can remove its objects if it never commits. */
const intent = schema((z) =>
  z.object({
    version: z.literal(1),
    run: z.string().regex(/^[\w-]+$/),
    /** `TableVersion.sequence` that the run began with; -1 for a new table. A commit after it is refused. */
    base: z.number().min(-1),
    started_at: z.string(),
  }),
);

export type Intent = z.output<ReturnType<typeof intent>>;

/** The manifest of the last run that found nothing to change, and so did not commit. */
export const unchangedKey = `${ownFolder}unchanged.json`;

const returnKey = `${ownFolder}returned.json`;

/** The last return to an earlier state: the runs after `run` up to `until` are no longer part of the table. */
const tableReturn = schema((z) => z.object({ version: z.literal(1), run: z.string(), sequence: z.number(), until: z.string() }));

/**
 * A table on a store:
 *
 * | key | content |
 * | --- | --- |
 * | `_latest.json`, `metadata/…` or `_delta_log/…` | the current version, in the words of the format |
 * | `data/RUN/a=1/part-00000.parquet` | data files of the run that wrote them; a name never changes; `.parquet.stored` below a view |
 * | `_leadstream/runs/RUN.json`, `RUN.keys.bin` | manifest and key index of a run |
 * | `_leadstream/intents/RUN.json` | said before the first data file, removed after the commit |
 * | `_leadstream/returned.json` | the last rollback |
 * | `_leadstream/unchanged.json` | the last run that found nothing to change |
 *
 * A kill at any moment leaves objects that no version names, and an intent that names their run. The next run that commits removes them: a commit
 * of the killed one that is still under way is refused from then on.
 */
export class StoreTable {
  constructor(
    readonly objects: ObjectStore,
    readonly format: TableFormat | LinkedFormat,
  ) {}

  /** As users write it. */
  get path(): string {
    return this.format.link ?? this.objects.root;
  }

  /** The format of a plain table of this machine. */
  get linked(): LinkedFormat | undefined {
    return this.format.link === undefined ? undefined : this.format;
  }

  /** Returns the path or URL of a data file of the current version. */
  placeOf({ name }: LiveFile, { run }: CommittedRun): string {
    return `${this.linked?.view(run) ?? this.path}/${name}`;
  }

  /**
   * Returns to a kept run, or accepts the current one after others set the table back.
   *
   * @returns What a commit has to do for that.
   * @throws {LeadstreamError} `E_RUN_LOCKED` if another writer was faster.
   */
  async restore(base: TableVersion, run: string, log?: RunLog): Promise<readonly Action[]> {
    if (this.format.link !== undefined) return this.format.restore(base, run);
    await this.recordReturn(run, run === base.current?.run ? base : await this.format.restore(base, run), log);
    return [];
  }

  /**
   * Returns the manifest of a run, and whether it is the one that its run committed, if the table itself can tell.
   *
   * @throws {SinkError} `E_SINK_FOREIGN` on a store if it cannot be read.
   */
  async manifest({ run, sha256 }: CommittedRun): Promise<{ text: string; manifest: Manifest | undefined; isUnchanged?: boolean }> {
    if (this.format.link !== undefined) return this.format.manifest(run);
    const text = await textAt(this.objects, manifestKey(run));
    const manifest = manifestIn(text);
    if (manifest?.run_id !== run)
      throw new SinkError('E_SINK_FOREIGN', `${this.path}/${manifestKey(run)} cannot be read as the manifest of its run`);
    return { manifest, isUnchanged: sha256Text(text) === sha256, text };
  }

  /** Returns what the last run said that found nothing to change, if a version is still the one that it found. */
  async unchanged({ current }: Pick<TableVersion, 'current'>): Promise<Manifest | undefined> {
    const manifest = manifestIn(await textAt(this.objects, unchangedKey));
    return current && manifest?.replaced === current.run ? manifest : undefined;
  }

  /**
   * As `load`.
   *
   * @param run The run that is wanted, which it may keep without a current one. Default: the current one.
   * @throws {SinkError} `E_SINK_FOREIGN` if there is no table.
   */
  async version(run?: string, log?: RunLog): Promise<FoundVersion> {
    const version = await this.load(log);
    if (version && this.format.link !== undefined) return run === undefined ? version : { ...version, older: undefined };
    if (version?.current ?? version?.kept.some((each) => each.run === run)) return version;
    throw notATable(this.path);
  }

  /** Loads the current version, and finds out whether a run committed after all that it knows. @param log Of this machine. */
  async load(log?: RunLog): Promise<FoundVersion | undefined> {
    if (this.format.link !== undefined) return this.format.load();
    const committed = await this.#committed(log);
    const version = await this.format.load();
    // Other programs removed all of its runs, so none is newer.
    if (version === undefined || (version.current === undefined && version.files.length > 0)) return version;
    const { data: last } = tableReturn().safeParse(jsonIn(await textAt(this.objects, returnKey)));
    const newest = version.runs.toSorted().at(-1);
    const isPart = (run: string) => last === undefined || run <= last.run || run > last.until;
    const later = committed.find((run) => isPart(run) && (newest === undefined || run > newest));
    if (later === undefined && (last === undefined || last.sequence <= version.sequence)) return version;
    const event = later === undefined ? 'the last rollback came' : `run ${later} committed`;
    const remedy = version.current ? `accept it with leadstream rollback ${this.path} --to CURRENT` : 'move all of it away';
    return { ...version, older: `${event} after all that the metadata of ${this.path} knows; restore the newest metadata, or ${remedy}` };
  }

  /** Records for all machines that a version shows the right run: those that committed after it are no longer part of the table. */
  async recordReturn(run: string, { sequence }: Pick<TableVersion, 'sequence'>, log?: RunLog): Promise<void> {
    const until = [newRunId(), ...(await this.#committed(log))].sort().at(-1);
    await this.objects.put(returnKey, `${JSON.stringify({ version: 1, run, sequence, until })}\n`);
  }

  /**
   * Returns the runs that have a manifest and no intent, which a version that is read later knows, and those that were logged after their commit.
   * A log may also know a table that was here earlier; without such a manifest, this one is new.
   */
  async #committed(log?: RunLog): Promise<readonly string[]> {
    const stored = await storedRuns(this.objects);
    const begun = await keysBelow(this.objects, [intentsFolder]);
    // A run that was refused in between has removed its manifest, and then its intent.
    const present = await storedRuns(this.objects);
    const committed = stored.filter((run) => !begun.includes(intentKey(run)) && present.includes(run));
    return committed.length === 0 ? [] : [...committed, ...((await log?.committed(this.path)) ?? [])];
  }

  /** Returns the sizes of the files that exist, by name. Other writers that compact a table of Delta choose other folders. */
  async sizes(files: readonly Pick<ManifestFile, 'name'>[]): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    const prefix = files.every(({ name }) => name.startsWith('data/')) ? 'data/' : '';
    for await (const { key, bytes } of this.objects.list(prefix)) sizes.set(key, bytes);
    return sizes;
  }

  /**
   * Removes objects that no version needs any more: of runs that are no longer kept, and of those that never committed. The order protects runs that commit
   * meanwhile: a manifest without an intent belongs to a run whose commit the version read after that knows.
   *
   * @param run The one that has committed.
   */
  async tidy(run: string, keep: number): Promise<void> {
    await this.objects.remove([intentKey(run)]);
    if (this.objects.signal?.aborted) return;
    const stored = await storedRuns(this.objects);
    const intents = await intentsIn(this.objects);
    const version = await this.format.load();
    if (version === undefined) return;
    const kept = (await this.linked?.keeping(version, keep)) ?? version.kept;
    const needed = new Set([version.current, ...kept, ...intents].map((each) => each?.run));
    const dropped = stored.filter((each) => !needed.has(each));
    await this.#remove(await this.format.expire({ ...version, kept }, keep, dropped));
    await this.objects.remove(dropped.flatMap((each) => [keysKey(each), manifestKey(each)]));
    for (const { run, base } of intents) {
      if (version.runs.includes(run) || (await this.needs(run, version))) await this.objects.remove([intentKey(run)]);
      else if (base < version.sequence) await this.removeRun(run);
    }
  }

  /** Removes everything of a run that did not commit and no longer can. @param isWhole Whether none of its uploads can still arrive. */
  async removeRun(run: string, isWhole = true): Promise<void> {
    const prefixes = [...prefixesOf(run), `${runsFolder}${run}.`];
    for (const prefix of prefixes) await this.objects.abortUploads(prefix);
    await this.#remove((await keysBelow(this.objects, prefixes)).filter(isOfRun), run);
    if (isWhole) await this.objects.remove([intentKey(run)]);
  }

  #remove(keys: readonly string[], run?: string): Promise<void> {
    return this.linked ? this.linked.remove(keys, run) : this.objects.remove(keys);
  }

  /** Whether the table needs files of a run: it may have committed before all that the format remembers, and its intent may have arrived late. */
  async needs(run: string, { files, kept }: TableVersion): Promise<boolean> {
    const isOf = ({ name }: Pick<ManifestFile, 'name'>) => storedKeyOf(name).startsWith(dataPrefix(run));
    if (files.some(isOf)) return true;
    for (const each of kept) if (each.run === run || (await this.manifest(each)).manifest?.files.some(isOf)) return true;
    return false;
  }

  /** Refuses to begin a table where something else is, or where a table was whose version is lost. @throws {SinkError} `E_SINK_FOREIGN`. */
  async refuseForeign(): Promise<void> {
    const [committed] = await this.#committed();
    if (committed !== undefined) {
      const remedy = 'restore what says which run is current, or move all of it away';
      throw new SinkError('E_SINK_FOREIGN', `${this.path} has run ${committed} of a table that is no longer there; ${remedy}`);
    }
    for await (const { key } of this.objects.list('')) {
      // A killed first run left it.
      if (isOfRun(key)) continue;
      throw new SinkError('E_SINK_FOREIGN', `${this.path} has ${key}, which is not part of it; choose another path, or move that away`);
    }
  }
}

export function notATable(path: string): SinkError {
  return new SinkError('E_SINK_FOREIGN', `${path} is not a leadstream table: no run has committed there`);
}

/** Returns the intents of all runs that have not removed theirs. */
export async function intentsIn(objects: ObjectStore): Promise<readonly Intent[]> {
  const found: Intent[] = [];
  for await (const { key } of objects.list(intentsFolder)) {
    const { data } = intent().safeParse(jsonIn(await textAt(objects, key)));
    if (data && intentKey(data.run) === key) found.push(data);
  }
  return found;
}

/** Returns the runs that have a manifest, whatever its content. */
export async function storedRuns(objects: ObjectStore): Promise<readonly string[]> {
  const keys = await keysBelow(objects, [runsFolder]);
  return keys.filter((key) => key.endsWith('.json')).map((key) => key.slice(runsFolder.length, -'.json'.length));
}

/** Whether a key is one that runs give to their objects. */
function isOfRun(key: string): boolean {
  return key.startsWith(ownFolder) || /^data\/[\w-]+\/(?:.*\/)?part-\d{5,}\.parquet(?:\.stored)?$|^metadata\/[^/]+\.avro$/.test(key);
}

/** Returns the names of the files in some manifests that others do not name. */
export function namedOnlyIn(dropped: readonly Files[], others: readonly Files[]): readonly string[] {
  const stay = new Set(others.flatMap(({ files }) => files.map(({ name }) => name)));
  return dropped.flatMap(({ files }) => files.flatMap(({ name }) => (stay.has(name) ? [] : [name])));
}

type Files = Pick<Manifest, 'files'>;
