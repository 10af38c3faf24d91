import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt, unlessMissing } from '../store/index.js';

/** Gives a folder the permissions of its files, the right to enter it to all who may read them, and that to write to its owner. */
export async function openTo(folder: string, permissions: number): Promise<void> {
  const mode = permissions | ((permissions & 0o444) >> 2) | 0o300;
  await attempt('E_SINK_PATH', `cannot set the permissions of ${folder}`, () => chmod(folder, mode));
}

/** What is in a folder; nothing where there is none. @throws {SinkError} `E_SINK_PATH`. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return attempt('E_SINK_PATH', `cannot read ${folder}`, () => readdir(folder).catch(unlessMissing([])));
}

/** Paths of all files below a folder, relative to it; links count as files. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await entriesBelow(folder);
  const from = folder.length + 1;
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(from));
}

/** Folders `column=value` below one, the innermost first. */
export async function partitionsBelow(folder: string): Promise<readonly string[]> {
  const entries = await entriesBelow(folder);
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name.includes('='));
  return folders.map((entry) => join(entry.parentPath, entry.name)).sort((a, b) => b.length - a.length);
}

/** Everything below a folder. What is behind a link is somewhere else. @throws {SinkError} `E_SINK_PATH`. */
export async function entriesBelow(folder: string) {
  return attempt('E_SINK_PATH', `cannot read ${folder}, or a folder below it`, async () => {
    const found = await lstat(folder).catch(unlessMissing(undefined));
    return found?.isDirectory() === true ? readdir(folder, { recursive: true, withFileTypes: true }) : [];
  });
}
