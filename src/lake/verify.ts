import type { Dirent } from 'node:fs';
import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { amount, amountOf, defined, SinkError } from '../core/index.js';
import { checkUsage, filledText, object } from '../options/index.js';
import { contentFault, footerOf, type Expected } from '../parquet/index.js';
import { ScratchFolder, sha256File, sha256Text, Stores } from '../store/index.js';
import { readingObject } from './files.js';
import { storesOption, type TableAccess, tableAt } from './formats.js';
import { entriesBelow, successName } from './link.js';
import { keysKey, notATable, type StoreTable } from './store-table.js';
import { RunLog, type Evidence } from './run-log.js';
import { bookedRows, fileColumns, folderOf, manifestIn, storedKeyOf, sumOf, withLive } from './manifest.js';
import type { Manifest, ManifestFile } from './manifest.js';
import { encoded } from './partitions.js';
import { isIndexed } from './versions.js';

/** What was checked, and every difference between a table and its manifest, a sentence each. */
export interface Verification {
  readonly run: string;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  readonly differences: readonly string[];
  /** How the manifest itself was shown to be unchanged. */
  readonly evidence: Evidence;
  /** Absolute path of another table that has this manifest in the log of runs: usually the table was moved. */
  readonly movedFrom?: string;
}

/** What to compare, and with what. */
export interface VerifyOptions extends TableAccess {
  /** The run to check, which may be a kept one. Default: the published one. */
  readonly run?: string | undefined;
  /** Manifest of a copied table; the path to verify is then the folder with the copied files. Absolute path. */
  readonly manifest?: string | undefined;
  /** Folder with the log of runs, as used by runs. By default manifests are trusted; the manifests of a table on a store are also in its versions, by SHA-256. */
  readonly stateDir?: string | undefined;
  /** Private folder for a copy of one file of a table on a store. Default: one in the system's temporary folder. */
  readonly scratch?: string | undefined;
}

const looking = object({ run: filledText, manifest: filledText, stateDir: filledText, scratch: filledText, stores: storesOption });
const parameters = object({ path: filledText, options: looking }, ['path']);

/**
 * Compares a table with its manifest, and the manifest with the log of runs. Checks that all files are there and are regular files, that there is
 * nothing else, and that sizes, digests, footers, sums and row counts match. Reads every byte once; memory is one footer.
 *
 * @param path The link `lake/leads`, or with `manifest` a copy of its target folder, whose key index is not checked.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments.
 * @throws {SinkError} `E_SINK_FOREIGN` when there is no such table; `E_SINK_RUN` when the run has no readable manifest.
 *
 * @example
 * const { differences } = await verifyTable('lake/leads');
 * if (differences.length > 0) throw new Error(differences.join('\n'));
 */
export async function verifyTable(path: string, options: VerifyOptions = {}): Promise<Verification> {
  checkUsage('verifyTable', parameters, { path, options });
  if (options.manifest !== undefined) return verifyCopy(path, options.manifest);
  const { run, stateDir, stores = new Stores() } = options;
  const log = RunLog.at(stateDir);
  const table = await tableAt(path, stores);
  const version = await table.version(run, log).catch((failure: unknown) => {
    if (!(failure instanceof SinkError) || failure.code !== 'E_SINK_FOREIGN') throw failure;
    throw new SinkError('E_SINK_FOREIGN', `${failure.message}; for a copy of a table, name its manifest (--manifest)`);
  });
  const { current, kept, unfinished = [], older } = version;
  const looked = [current, ...kept, ...unfinished].find((each) => each?.run === (run ?? current?.run));
  if (looked === undefined && run === undefined) throw notATable(path);
  const { manifest: own, isUnchanged, text = '' } = (looked && (await table.manifest(looked))) ?? {};
  if (!looked || !own) throw new SinkError('E_SINK_RUN', `${path}: run ${run ?? looked?.run} is not kept, or has no readable manifest`);
  const manifest = looked === current ? withLive(own, version) : own;
  const logged = await log?.check(path, looked.run, text, isUnchanged);
  const differences = [
    ...(isUnchanged === false ? [`the manifest of run ${looked.run} is not the one that the run committed (SHA-256)`] : []),
    ...[older, logged?.difference].filter((each) => each !== undefined),
    ...sumDifferences(manifest),
    ...(await viewDifferences(table, manifest, !kept.includes(looked))),
    ...(await storedDifferences(table, manifest, options.scratch)),
  ];
  // If the run was replaced in the meantime, its differences do not count.
  if (run === undefined && differences.length > 0 && (await table.version()).current?.run !== looked.run) return verifyTable(path, options);
  const vouched: Evidence = isUnchanged ? 'sha256' : 'none';
  const { evidence = vouched, movedFrom } = isUnchanged === undefined ? (logged ?? {}) : {};
  return { ...summaryOf(manifest), evidence, ...defined({ movedFrom }), differences };
}

async function verifyCopy(folder: string, path: string): Promise<Verification> {
  // A copy is wherever someone put it, possibly through a link.
  const manifest = await readFile(path, 'utf8').then(manifestIn, () => undefined);
  if (!manifest) throw new SinkError('E_SINK_RUN', `${path} is not a readable manifest`);
  const differences = [...sumDifferences(manifest), ...(await compare(await realpath(folder).catch(() => folder), manifest))];
  return { ...summaryOf(manifest), evidence: 'none', differences };
}

/** Compares what readers of this machine see, which kept runs do not have. */
async function viewDifferences({ linked, objects }: StoreTable, manifest: Manifest, isShown: boolean): Promise<readonly string[]> {
  if (!linked || !isShown) return [];
  const view = linked.view(manifest.run_id);
  const links: string[] = [];
  for (const folder of [objects.root, view])
    if ((await lstat(folder).catch(() => undefined))?.isSymbolicLink()) links.push(`${folder} is a link, so the files are somewhere else`);
  return [...links, ...(await compare(view, manifest))];
}

/** Compares what the version names; readers do not see other objects. */
async function storedDifferences(table: StoreTable, manifest: Manifest, folder = tmpdir()): Promise<readonly string[]> {
  const { linked, objects } = table;
  const { run_id: run, keys } = manifest;
  const differences: string[] = [];
  const sizes = linked ? undefined : await table.sizes(manifest.files);
  const scratch = linked ? undefined : await ScratchFolder.open(join(folder, `leadstream-${process.getuid?.() ?? ''}`));
  try {
    for (const file of manifest.files) {
      const { name } = file;
      const path = await linked?.pathOf(name);
      const isThere = path === undefined ? sizes?.has(name) : await isSame(path);
      // What readers see has been compared.
      if (linked && path !== undefined && (await isSame(path, join(linked.view(run), name)))) continue;
      if (!isThere) differences.push(`${storedKeyOf(name)} is missing`);
      else differences.push(...(await readingObject(table, name, scratch, (copy) => manifestDifferences(copy, file, manifest))));
    }
  } finally {
    await scratch?.remove();
  }
  if (!keys) return differences;
  const digest = linked
    ? await sha256File(await linked.pathOf(keysKey(run))).catch(() => undefined)
    : sha256Text((await objects.read(keysKey(run)))?.bytes ?? '');
  const current = manifest.files.filter((file) => isIndexed(file, manifest.schema));
  const rows = manifest.history ? sumOf(current, 'rows') : manifest.rows;
  if (keys.rows !== rows) differences.push(`the key index has ${amountOf(keys.rows, 'row')}, but the table has ${amount(rows)}`);
  else if (digest !== keys.sha256) differences.push('the key index is missing, or differs from the manifest (SHA-256)');
  return differences;
}

/** Whether two names are those of one regular file. */
async function isSame(one: string, other = one): Promise<boolean> {
  const [a, b] = [await lstat(one).catch(() => undefined), await lstat(other).catch(() => undefined)];
  return a?.isFile() === true && a.ino === b?.ino && a.dev === b.dev;
}

function summaryOf({ run_id: run, rows, bytes, files }: Manifest) {
  return { run, files: files.length, rows, bytes };
}

/** Compares files under the names that readers see. */
async function compare(folder: string, manifest: Manifest): Promise<readonly string[]> {
  const below = await entriesBelow(folder);
  const entries = new Map(below.map((entry) => [join(entry.parentPath, entry.name).slice(folder.length + 1), kindOf(entry)]));
  const differences = [...unlisted(entries, manifest), ...(await oneFileTwice(folder, manifest))];
  for (const file of manifest.files) {
    // A file behind a link is somewhere else.
    if (entries.get(file.name) !== 'file') differences.push(`${file.name} is missing`);
    else differences.push(...(await manifestDifferences(join(folder, file.name), file, manifest)));
  }
  if (manifest.success_file) {
    const size = entries.get(successName) === 'file' ? (await stat(join(folder, successName))).size : undefined;
    if (size === undefined) differences.push(`${successName} is missing`);
    else if (size > 0) differences.push(`${successName} has ${amountOf(size, 'byte')}, but leadstream writes it empty`);
  }
  return differences;
}

type Kind = 'file' | 'folder' | 'link' | 'device';

function kindOf(entry: Dirent): Kind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isSymbolicLink() ? 'link' : 'device';
}

/** Finds entries that readers may take for part of the table; which names count differs between readers. */
function unlisted(entries: ReadonlyMap<string, Kind>, { files, success_file: success }: Manifest): readonly string[] {
  const known = new Map<string, Kind>(success ? [[successName, 'file']] : []);
  for (const { name } of files) {
    known.set(name, 'file');
    for (let above = dirname(name); above !== '.'; above = dirname(above)) known.set(above, 'folder');
  }
  const others = [...entries].filter(([name, kind]) => known.get(name) !== kind);
  const above = new Set(others.map(([name]) => dirname(name)));
  return others
    .filter(([name, kind]) => kind !== 'folder' || !above.has(name))
    .map(([name, kind]) => `${name} exists${kind === 'file' ? '' : ` (a ${kind})`}, but is not in the manifest`)
    .sort();
}

/** Finds two names of one file, which readers take for two files. */
async function oneFileTwice(folder: string, { files }: Manifest): Promise<readonly string[]> {
  const seen = new Map<string, string>();
  const differences: string[] = [];
  for (const { name } of files) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (!found) continue;
    const file = `${found.dev} ${found.ino}`;
    const other = seen.get(file);
    if (other === name) differences.push(`the manifest lists ${name} more than once`);
    else if (other !== undefined) differences.push(`${other} and ${name} are the same file`);
    seen.set(file, name);
  }
  return differences;
}

export async function manifestDifferences(path: string, file: ManifestFile, manifest: Manifest): Promise<readonly string[]> {
  const { name, bytes, sha256 } = file;
  const { size } = await stat(path);
  if (size !== bytes) return [`${name} has ${amountOf(size, 'byte')}, but the manifest says ${amount(bytes)}`];
  if (sha256 !== undefined && (await sha256File(path)) !== sha256) return [`the contents of ${name} differ from the manifest (SHA-256)`];
  return footerDifferences(path, file, manifest);
}

function sumDifferences(manifest: Manifest): readonly string[] {
  const { rows, bytes, files, run, run_id: id } = manifest;
  const { before, inserted, deleted, closed = 0 } = run.merged ?? { before: sumOf(files, 'rows'), inserted: 0, deleted: 0 };
  const own = files.filter(({ written_by: by }) => by === id);
  const isCompacted = manifest.compacted === true || files.some(({ written_by: by }) => by === undefined);
  const sums = [
    ['the manifest says', rows, 'row', sumOf(files, 'rows')],
    ['the manifest says', bytes, 'byte', sumOf(files, 'bytes')],
    ['the merge made', before + inserted - deleted + closed, 'row', sumOf(files, 'rows')],
    ['the run wrote', run.written + (run.merged?.rewritten ?? 0), 'row', sumOf(own, 'rows')],
  ] as const;
  const wrong = sums.filter(([what, said, , found]) => said !== found && !(isCompacted && what === 'the run wrote'));
  const faults = wrong.map(([what, said, unit, found]) => `${what} ${amountOf(said, unit)}, but its files have ${amount(found)}`);
  return [...faults, ...bookDifferences(manifest)];
}

/** Checks the row counts; a table written in code has none. */
function bookDifferences({ books, output, run }: Manifest): readonly string[] {
  if (Object.keys(books).length === 0) return [];
  const booked = bookedRows().safeParse(books[output]).data;
  if (!booked) return [`books has no entry for ${output}`];
  if (booked.written === run.written && booked.unchanged === run.unchanged) return [];
  const said = `books has ${amountOf(booked.written, 'row')} written and ${amount(booked.unchanged)} unchanged`;
  return [`${said}, but run has ${amount(run.written)} and ${amount(run.unchanged)}`];
}

async function footerDifferences(path: string, file: ManifestFile, manifest: Manifest): Promise<readonly string[]> {
  const { name, rows, written_by: by } = file;
  const footer = await footerOf(path);
  if (footer && by === undefined) return footer.num_rows === BigInt(rows) ? [] : [`${name} has another number of rows than the table says`];
  if (!footer) return [`${name} has no Parquet footer`];
  const { columns: all }: Pick<Expected, 'columns'> = fileColumns(manifest, folderOf(file) !== '');
  // A file written by an earlier run may lack columns added later, and have them in another order.
  const found = () => footer.schema.slice(1).flatMap((element) => all.find((column) => column.name === element.name) ?? []);
  const fault = contentFault(footer, { rows, columns: by === manifest.run_id ? all : found() });
  return [...partitionDifferences(file, manifest), ...(fault === undefined ? [] : [`${name} differs from the manifest: ${fault}`])];
}

/** Finds folders that readers would take for other columns than those in the manifest. */
function partitionDifferences(file: ManifestFile, { partition_by: by, table }: Manifest): readonly string[] {
  const { name, rows } = file;
  const folder = folderOf(file);
  if (table === 'iceberg' || (rows === 0 && folder === '')) return [];
  const levels = folder === '' ? [] : folder.split('/');
  const found = levels.map((level) => level.slice(0, level.indexOf('=')));
  return found.join('/') === by.map(encoded).join('/') ? [] : [`${name} is not in the partition folders ${by.join(', ') || '(none)'}`];
}
