import { dirname, join } from 'node:path';
import { attempt, linked, makeFolders, PartialFile, sha256File, type Move } from '../../files/index.js';
import type { KeyIndex } from './key-index.js';
import type { Manifest, ManifestFile } from './manifest.js';
import { keysName, manifestName, openTo, partialEnding, successName, type Table } from './table.js';

/** Gives files of the earlier run a second name in the new one; nothing is copied where the file system has links. */
export async function stageCarried(
  table: Table,
  from: string | undefined,
  folder: string,
  files: readonly ManifestFile[],
  permissions: number,
): Promise<readonly Move[]> {
  if (from === undefined) return [];
  const moves: Move[] = [];
  for (const { name } of files) {
    const path = join(folder, name);
    for (const made of await makeFolders(dirname(path))) await openTo(made, permissions);
    await attempt('E_SINK_WRITE', `cannot take over ${path}`, () => linked(join(table.folder(from), name), path + partialEnding));
    moves.push({ from: path + partialEnding, to: path });
  }
  return moves;
}

/** Writes the key index, and what the manifest says of it. */
export async function stageKeys(folder: string, index: KeyIndex, columns: readonly string[], permissions: number) {
  const file = await openStaged(folder, keysName, permissions);
  await index.store(file);
  await file.close();
  const entry = { columns: [...columns], rows: index.rows, bytes: file.bytes, sha256: await sha256File(file.path) };
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
