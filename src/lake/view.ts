import { readdir, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { attempt, commitUnlogged, inTurn, isRemote, linked, makeFolders, objectsAt } from '../store/index.js';
import { removeFile, removeFolders, syncFolder, temporaryName } from '../store/index.js';
import { dataFileName, folderOf } from './manifest.js';
import { type Pointer, PointerFormat, type PointerState, runsOf, viewName } from './pointer.js';
import { entriesBelow, TableLink } from './link.js';

/**
 * Shows what a pointer says to readers of this machine: the link `night/current` leads to `night/.current.runs/NAME`, with hard links of all files, such as
 * `leads/a=1/part-00000-RUN.parquet`. That folder never changes, and stays while the pointer keeps it. Runs and rollbacks begin with this: the last may be dead.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` if something else is in the place of the link.
 */
export async function show(pointer: Pointer): Promise<void> {
  if (isRemote(pointer.path)) return;
  const link = new TableLink(join(pointer.path, viewName));
  await inTurn(link.path, 'show', async () => {
    await link.safeTarget();
    const state = await pointer.read();
    if (state === undefined || state.content.current.id === 0) return;
    const { current, kept } = state.content;
    // A pointer that somebody restored repeats ids, but never runs.
    const nameOf = ({ id, tables }: typeof current) => `${id}-${runsOf(tables).at(-1)}`;
    const folder = link.view(nameOf(current));
    await attempt('E_SINK_WRITE', `cannot create ${folder}`, () => create(folder, pointer, state));
    await commitUnlogged({ outputs: [link.path], actions: [await link.to(nameOf(current))] });
    const stay = [current, ...kept].map(nameOf);
    for (const name of await readdir(link.folder)) if (isView.test(name) && !stay.includes(name)) await remove(link.view(name));
  });
}

/** What `nameOf` returns, and a draft of it. */
const isView = /^\d+-[\w-]+(?:\.[0-9a-f]{16}\.tmp)?$/;

/** Creates a view, which gets its name last, so that nobody sees a part of it. */
async function create(path: string, pointer: Pointer, state: PointerState): Promise<void> {
  if ((await entriesBelow(path)).length > 0) return;
  const draft = temporaryName(path);
  await makeFolders(draft, undefined, 0o644);
  const folders = new Set<string>();
  for (const table of Object.keys(state.content.current.tables)) {
    const objects = objectsAt(join(pointer.path, table));
    // Readers of this whole folder, or one above it, fail here instead of getting the rows of several runs.
    await objects.put('read-through-current.parquet', `Not Parquet: ../${viewName}/${table} is the table.\n`);
    for (const file of (await new PointerFormat(objects, pointer, table).versionOf(state)).files) {
      const [folder, [, run], [part]] = [join(draft, table, folderOf(file)), file.name.split('/'), basename(file.name).split('.')];
      const from = join(objects.root, file.name);
      if (!folders.has(folder)) await makeFolders(folder, draft, (await stat(from)).mode & 0o777);
      folders.add(folder);
      await linked(from, join(folder, `${part}-${run}.parquet`));
    }
  }
  for (const folder of folders) await syncFolder(folder);
  await rename(draft, path);
}

/** Removes a folder and the links in it, unless there is anything else. */
async function remove(path: string): Promise<void> {
  const below = await entriesBelow(path);
  for (const { parentPath, name } of below) if (dataFileName.test(name)) await removeFile(join(parentPath, name));
  await removeFolders([path, ...below.map(({ parentPath, name }) => join(parentPath, name))].sort());
}
