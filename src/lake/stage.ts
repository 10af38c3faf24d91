import { createReadStream, type Stats } from 'node:fs';
import { chmod, lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, linked, makeFolders, PartialFile, sha256File, type RenameAction } from '../store/index.js';
import type { KeyIndex } from './key-index.js';
import { filesBelow, openTo } from './folders.js';
import { dataFileNameOf, type Manifest, type ManifestFile } from './manifest.js';
import { partialEnding, successName } from './names.js';

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
 * Puts files of the earlier run into the new one: as hard links, without copying if the file system supports them, or as copies that share no blocks
 * with them. Files with names elsewhere and other permissions are copied, too.
 *
 * @throws {SinkError} `E_SINK_WRITE`, or `E_SINK_VERIFY` when a copied file does not match the earlier manifest.
 */
export async function stageRetained(
  from: string,
  folder: string,
  files: readonly RetainedFile[],
  { permissions, copies }: { readonly permissions: number; readonly copies: boolean },
): Promise<readonly RenameAction[]> {
  const actions: RenameAction[] = [];
  for (const { from: name, file } of files) {
    const path = join(folder, file.name);
    for (const made of await makeFolders(dirname(path), folder)) await openTo(made, permissions);
    if (copies) {
      actions.push(await copied(join(from, name), path, file, permissions));
      continue;
    }
    const staged = await attempt('E_SINK_WRITE', `cannot retain ${path}`, () =>
      secondName(join(from, name), path, permissions, dirname(folder)),
    );
    actions.push(
      staged
        ? { action: 'rename', from: path + partialEnding, to: path, file: { bytes: file.bytes } }
        : await copied(join(from, name), path, file, permissions),
    );
  }
  return actions;
}

/**
 * Links a file of a run into another one, with these permissions, which all its names share. A file that has names outside the runs of the table
 * keeps its permissions, as in a backup by hard links or when it was put there.
 *
 * @returns Whether it was linked; otherwise it must be copied.
 */
async function secondName(from: string, path: string, permissions: number, runs: string): Promise<boolean> {
  const found = await lstat(from);
  const same = (found.mode & 0o777) === permissions;
  if (!same && found.nlink > 1 && found.nlink > (await namesIn(runs, found))) return false;
  await linked(from, path + partialEnding);
  if (!same) await chmod(path + partialEnding, permissions);
  return true;
}

/** Counts the names of a file below a folder. */
async function namesIn(folder: string, { dev, ino }: Stats): Promise<number> {
  let names = 0;
  for (const name of await filesBelow(folder)) {
    const found = await lstat(join(folder, name));
    if (found.dev === dev && found.ino === ino) names += 1;
  }
  return names;
}

/** Copies byte by byte, because the system's own copying may share blocks. */
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
