import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { attempt, linked, makeFolders, PartialFile, type Move } from '../../../files/index.js';
import type { KeyIndex } from './key-index.js';
import { partNameOf, type Manifest, type ManifestFile } from './manifest.js';
import { keysName, manifestName, openTo, partialEnding, successName } from './table.js';

/** A file of the earlier run, and its name in the new one. */
export interface Carried {
  readonly from: string;
  readonly file: ManifestFile;
}

/**
 * Names files of the earlier run as parts of the new one. A reader that listed the old table and opens its files after the swap finds
 * none of them, instead of some.
 *
 * @param first Number of the first part that is free.
 */
export function carriedInto(run: string, files: readonly ManifestFile[], first: number): readonly Carried[] {
  return files.map((file, index) => {
    const folder = dirname(file.name);
    const name = partNameOf(run, first + index);
    return { from: file.name, file: { ...file, name: folder === '.' ? name : join(folder, name) } };
  });
}

/** Gives files of the earlier run a second name in the new one; nothing is copied where the file system has links. */
export async function stageCarried(from: string, folder: string, files: readonly Carried[], permissions: number): Promise<readonly Move[]> {
  const moves: Move[] = [];
  for (const { from: name, file } of files) {
    const path = join(folder, file.name);
    for (const made of await makeFolders(dirname(path), folder)) await openTo(made, permissions);
    await attempt('E_SINK_WRITE', `cannot take over ${path}`, async () => {
      await linked(join(from, name), path + partialEnding);
      await chmod(path + partialEnding, permissions);
    });
    moves.push({ from: path + partialEnding, to: path, file: { bytes: file.bytes } });
  }
  return moves;
}

/** Writes the key index, and what the manifest says of it. */
export async function stageKeys(folder: string, index: KeyIndex, columns: readonly string[], permissions: number) {
  const file = await openStaged(folder, keysName, permissions);
  await index.store(file);
  await file.close();
  const entry = { columns: [...columns], rows: index.rows, ...file.content };
  return { move: file.move, entry };
}

export async function stageManifest(folder: string, permissions: number, manifest: Manifest): Promise<Move> {
  const file = await openStaged(folder, manifestName, permissions);
  await file.append(`${JSON.stringify(manifest, null, 2)}\n`);
  await file.close();
  return file.move;
}

/** The empty file by which Hadoop's heirs tell that a folder is complete. */
export async function stageSuccess(folder: string, permissions: number): Promise<Move> {
  const file = await openStaged(folder, successName, permissions);
  await file.close();
  return file.move;
}

function openStaged(folder: string, name: string, permissions: number): Promise<PartialFile> {
  const path = join(folder, name);
  return PartialFile.open(path + partialEnding, path, [], permissions);
}
