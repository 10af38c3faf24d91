import { createReadStream } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { amount, amountOf, GateError, SinkError } from '../core/index.js';
import { attempt, inPlace, linked, makeFolders, PartialFile, sha256File, type RenameAction } from '../store/index.js';
import type { KeyIndex } from './keys.js';
import { dataFileNameOf, type Manifest, type ManifestFile } from './manifest.js';
import { openTo, partialEnding, successName } from './table.js';

/** A file of the earlier run that stays in the table, and its name in the new one. */
export interface RetainedFile {
  readonly from: string;
  readonly file: ManifestFile;
}

/**
 * Names files of the earlier run as data files of the new one. A reader that listed the old table and opens its files after the swap then finds none
 * of them, rather than some.
 *
 * @param first The first free number.
 */
export function retainedIn(run: string, files: readonly ManifestFile[], first: number): readonly RetainedFile[] {
  return files.map((file, index) => {
    const folder = dirname(file.name);
    const name = dataFileNameOf(run, first + index);
    return { from: file.name, file: { ...file, name: folder === '.' ? name : join(folder, name) } };
  });
}

/**
 * Puts files of the earlier run into the new one: as hard links, without copying if the file system supports them. Files with other permissions are
 * copied, since all names of a file share them.
 *
 * @throws {SinkError} `E_SINK_WRITE`, or `E_SINK_VERIFY` when a copied file does not match the earlier manifest.
 */
export async function stageRetained(
  from: string,
  folder: string,
  files: readonly RetainedFile[],
  permissions: number,
): Promise<readonly RenameAction[]> {
  const actions: RenameAction[] = [];
  for (const { from: name, file } of files) {
    const [source, path] = [join(from, name), join(folder, file.name)];
    for (const made of await makeFolders(dirname(path), folder)) await openTo(made, permissions);
    const isLinked = await attempt('E_SINK_WRITE', `cannot retain ${path}`, async () => {
      const { mode } = await lstat(source);
      return (mode & 0o777) === permissions && (await linked(source, path + partialEnding));
    });
    actions.push(
      isLinked
        ? { action: 'rename', from: path + partialEnding, to: path, file: { bytes: file.bytes } }
        : await copied(source, path, file, permissions),
    );
  }
  return actions;
}

/** Copies a file, and compares the copy with the earlier manifest. */
async function copied(from: string, path: string, { sha256 }: ManifestFile, permissions: number): Promise<RenameAction> {
  const copy = await openStaged(path, permissions);
  await attempt('E_SINK_WRITE', `cannot copy ${from}`, async () => {
    for await (const chunk of createReadStream(from, { highWaterMark: 1024 * 1024 })) await copy.append(chunk as Buffer);
  });
  await copy.close();
  if ((await sha256File(copy.path)) !== sha256)
    throw new SinkError('E_SINK_VERIFY', `${from}: its contents differ from its manifest (SHA-256), so it is not reused`);
  return copy.action;
}

/** Writes the key index, and returns its entry for the manifest. */
export async function stageKeys(path: string, index: KeyIndex, columns: readonly string[], permissions: number) {
  const file = await openStaged(path, permissions);
  await index.store(file);
  await file.close();
  const entry = { columns: [...columns], rows: index.rows, ...file.content };
  return { action: file.action, entry };
}

/**
 * @param path Final path of the manifest.
 * @returns The action that commits it, and its text.
 */
export async function stageManifest(path: string, permissions: number, manifest: Manifest): Promise<readonly [RenameAction, string]> {
  const file = await openStaged(path, permissions);
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  await file.append(text);
  await file.close();
  return [file.action, text];
}

/** Writes the empty file by which Hadoop and related tools recognize a complete folder. */
export async function stageSuccess(folder: string, permissions: number): Promise<RenameAction> {
  const file = await openStaged(join(folder, successName), permissions);
  await file.close();
  return file.action;
}

function openStaged(path: string, permissions: number): Promise<PartialFile> {
  return PartialFile.open(path + partialEnding, path, [], permissions);
}

/**
 * Checks cheaply that retained files match the table's manifest: each must be a regular file of the right size, with the start and end of a Parquet file.
 * Digests are not compared, since that would read the whole table in every run. `verify` does so.
 *
 * @throws {GateError} `E_GATE_VERIFY` with the file.
 */
export async function checkRetained(at: string, folder: string, files: readonly ManifestFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    const fault = await faultOf(join(folder, name), bytes).catch((thrown: unknown) => `cannot be read: ${String(thrown)}`);
    if (fault === undefined) continue;
    throw new GateError('E_GATE_VERIFY', `${at}: ${join(folder, name)} ${fault}, so it is not reused; see leadstream verify`);
  }
}

async function faultOf(path: string, bytes: number): Promise<string | undefined> {
  const file = await open(path, inPlace);
  try {
    const found = await file.stat();
    if (!found.isFile()) return 'is not a regular file';
    if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, but its manifest says ${amount(bytes)}`;
    const ends = Buffer.alloc(2 * magic.length);
    await file.read(ends, 0, magic.length, 0);
    await file.read(ends, magic.length, magic.length, Math.max(0, bytes - magic.length));
    return ends.toString('latin1') === magic + magic ? undefined : 'is not a Parquet file';
  } finally {
    await file.close();
  }
}

const magic = 'PAR1';
