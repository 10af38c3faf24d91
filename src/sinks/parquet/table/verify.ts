import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { SinkError } from '../../../errors.js';
import { sha256File } from '../../../files/index.js';
import { readManifest, type Manifest, type ManifestFile } from './manifest.js';
import { filesBelow, keysName, keptEnding, manifestName, successName, Table } from './table.js';

/** What was looked at, and every difference between a table and its manifest, a sentence each. */
export interface Verification {
  readonly run: string;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  readonly differences: readonly string[];
}

/**
 * Compares the files of a table with its manifest: that they are there and no others are, their sizes, digests, footers and
 * row counts, and the sums. Reads every byte once; memory is one footer.
 *
 * @param path The link `lake/leads`, or a copy of the folder behind it.
 * @param run The run to look at, which may be a kept one. Default: the published one.
 * @throws {SinkError} `E_SINK_FOREIGN` when there is no such table; `E_SINK_RUN` when the run has no manifest that can be read.
 */
export async function verifyTable(path: string, run?: string): Promise<Verification> {
  const found = await verifyRun(path, run);
  // A run that was replaced meanwhile is no longer what the table has to be.
  if (run !== undefined || found.differences.length === 0 || !(await hasMoved(path, found.run))) return found;
  return verifyTable(path);
}

/** Whether the link points to another run by now. */
async function hasMoved(path: string, run: string): Promise<boolean> {
  return (await lstat(path)).isSymbolicLink() && (await new Table(path).published()) !== run;
}

async function verifyRun(path: string, run?: string): Promise<Verification> {
  const table = new Table(path);
  const copy = run === undefined ? await readManifest(join(path, manifestName)) : undefined;
  if (copy && !(await lstat(path)).isSymbolicLink()) return compare(path, copy, '');
  const published = await table.published();
  const looked = run ?? published;
  const manifest = looked === undefined ? undefined : await table.manifest(looked);
  if (looked === undefined || !manifest)
    throw looked === undefined
      ? new SinkError('E_SINK_FOREIGN', `${path} is no table of leadstream: there is no link to a run`)
      : new SinkError('E_SINK_RUN', `${path}: run ${looked} is not there, or has no manifest that can be read`);

  return compare(table.folder(looked), manifest, looked === published ? '' : keptEnding);
}

/** @param ending What the names of parts have behind them. */
async function compare(folder: string, manifest: Manifest, ending: string): Promise<Verification> {
  const differences: string[] = [];
  for (const file of manifest.files) differences.push(...(await differencesOf(join(folder, file.name + ending), file, manifest)));
  differences.push(...sumDifferences(manifest), ...(await strangers(folder, manifest, ending)));
  if (!(await exists(join(folder, successName)))) differences.push(`${successName} is missing`);
  if (manifest.keys) differences.push(...(await keyDifferences(join(folder, keysName), manifest.keys)));
  const { rows, bytes, files } = manifest;
  return { run: manifest.run_id, files: files.length, rows, bytes, differences };
}

async function differencesOf(
  path: string,
  { name, rows, bytes, sha256 }: ManifestFile,
  { schema, partition_by: by }: Manifest,
): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return [`${name} is missing`];
  if (found.size !== bytes) return [`${name} has ${found.size} bytes, the manifest says ${bytes}`];
  if ((await sha256File(path)) !== sha256) return [`${name} has other contents than the manifest says (SHA-256)`];
  const footer = await asyncBufferFromFile(path)
    .then((file) => parquetMetadataAsync(file))
    .catch(() => undefined);
  if (!footer) return [`${name} has no Parquet footer`];
  if (footer.num_rows !== BigInt(rows)) return [`${name} has ${footer.num_rows} rows, the manifest says ${rows}`];
  const columns = footer.schema.slice(1).map((element) => element.name);
  const unknown = columns.filter((column) => by.includes(column) || !schema.some(({ name: known }) => known === column));
  return unknown.length === 0 ? [] : [`${name} has columns that the manifest does not list: ${unknown.join(', ')}`];
}

function sumDifferences({ rows, bytes, files }: Manifest): readonly string[] {
  const [rowSum, byteSum] = [files.reduce((sum, file) => sum + file.rows, 0), files.reduce((sum, file) => sum + file.bytes, 0)];
  return [
    ...(rowSum === rows ? [] : [`the manifest says ${rows} rows, its files have ${rowSum}`]),
    ...(byteSum === bytes ? [] : [`the manifest says ${bytes} bytes, its files have ${byteSum}`]),
  ];
}

/** Files that readers of the folder would take for part of the table. */
async function strangers(folder: string, { files }: Manifest, ending: string): Promise<readonly string[]> {
  const listed = new Set(files.map(({ name }) => name + ending));
  const names = (await filesBelow(folder)).filter((name) => name.endsWith('.parquet') && !listed.has(name));
  return names.map((name) => `${name} is there, but not in the manifest`);
}

async function keyDifferences(path: string, { bytes, sha256 }: NonNullable<Manifest['keys']>): Promise<readonly string[]> {
  if ((await stat(path).catch(() => undefined))?.size !== bytes)
    return [`${keysName} is missing or has another size than the manifest says`];
  return (await sha256File(path)) === sha256 ? [] : [`${keysName} has other contents than the manifest says (SHA-256)`];
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
