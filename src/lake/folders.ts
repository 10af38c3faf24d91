import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt, unlessMissing } from '../store/index.js';

/** Sets the permissions of a folder to match those of its files: everyone who may read them may enter it, and its owner may write. */
export async function openTo(folder: string, permissions: number): Promise<void> {
  const mode = permissions | ((permissions & 0o444) >> 2) | 0o300;
  await attempt('E_SINK_PATH', `cannot set the permissions of ${folder}`, () => chmod(folder, mode));
}

/** Lists a folder; returns nothing if it does not exist. @throws {SinkError} `E_SINK_PATH`. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return attempt('E_SINK_PATH', `cannot read ${folder}`, () => readdir(folder).catch(unlessMissing([])));
}

/** Returns the paths of all files below a folder, relative to it; links count as files. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await entriesBelow(folder);
  const from = folder.length + 1;
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(from));
}

/** Returns the folders `column=value` below a folder, innermost first. */
export async function partitionsBelow(folder: string): Promise<readonly string[]> {
  const entries = await entriesBelow(folder);
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name.includes('='));
  return folders.map((entry) => join(entry.parentPath, entry.name)).sort((a, b) => b.length - a.length);
}

/** Lists everything below a folder, without following links. @throws {SinkError} `E_SINK_PATH`. */
export async function entriesBelow(folder: string) {
  return attempt('E_SINK_PATH', `cannot read ${folder}, or a folder below it`, async () => {
    const found = await lstat(folder).catch(unlessMissing(undefined));
    return found?.isDirectory() === true ? readdir(folder, { recursive: true, withFileTypes: true }) : [];
  });
}
