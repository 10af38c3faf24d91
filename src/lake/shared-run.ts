import { LeadstreamError } from '../core/index.js';
import type { AddedFile, TableVersion } from './format.js';
import { type Manifest, storedKeyOf } from './manifest.js';
import { dataPrefix, intentKey, intentsIn, keysBelow, type StoreTable } from './store-table.js';

/** What a process does of a run that several share: it begins the run, adds files to it, or commits those of all. */
export interface TablePart {
  readonly role: 'plan' | 'shard' | 'commit';
  /** The shared run, whose intent and files stay whatever becomes of this process. */
  readonly run: string;
  /** `TableVersion.sequence` that it began with, by sink; -1 for a new table. */
  readonly bases: Map<string, number>;
  /** Its files by sink: those of a shard, or of all. */
  readonly files: Map<string, readonly AddedFile[]>;
  /** Added to the numbers of data files, so that no two attempts at a shard write the same one. */
  readonly first: number;
  /** Whether the intent of a plan, or the files of a shard, stay. */
  isKept: boolean;
}

/** @throws {LeadstreamError} `E_SHARD_PLAN` for a shared run that can no longer be committed. */
export async function refuseOvertaken(table: StoreTable, base: TableVersion | undefined, part: TablePart, at: string): Promise<void> {
  const { run, bases } = part;
  const isBegun = (await table.objects.find(intentKey(run))) !== undefined;
  const isDone = base !== undefined && (await table.needs(run, base));
  if (isBegun && !isDone && (base?.sequence ?? -1) === bases.get(at)) return;
  const fault = isDone ? 'was committed' : 'was overtaken by another publication, or removed';
  throw new LeadstreamError('E_SHARD_PLAN', `${at}: the plan ${run} ${fault}`);
}

/** Removes what killed runs left. The caller holds the lock, so no other run is under way. */
export async function removeDead(table: StoreTable, base?: TableVersion, before?: Manifest, shared?: string): Promise<void> {
  for (const { run } of await intentsIn(table.objects)) {
    if (run === shared) continue;
    const isNeeded = run === before?.run_id || (base !== undefined && (await table.needs(run, base)));
    await (isNeeded ? table.objects.remove([intentKey(run)]) : table.removeRun(run));
  }
}

/** Removes what attempts at shards left that are not part of the table. */
export async function removeLeft({ objects }: StoreTable, at: string, { run, files }: TablePart): Promise<void> {
  const stay = new Set((files.get(at) ?? []).map(({ name }) => storedKeyOf(name)));
  const keys = await keysBelow(objects, [dataPrefix(run)]);
  await objects.remove(keys.filter((key) => !stay.has(key)));
}
