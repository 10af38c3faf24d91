import { createHash, type Hash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { GateError, itemAt, LeadstreamError, type Row, SinkError, stoppedBy, textOf } from '../core/index.js';
import { codecs, compressions, footerOf, loadEngine, readGroups } from '../parquet/index.js';
import { type Action, isRemote, type ObjectStores, type PartialFile, sha256Text } from '../store/index.js';
import { Batch, batchFromRows } from '../vector/index.js';
import { DataFiles } from './data-files.js';
import { tableAt } from './formats.js';
import { runsIn } from './history.js';
import { folderOf, type Manifest, type ManifestFile, sumOf } from './manifest.js';
import { partitionBy, textsIn } from './partitions.js';
import type { Evidence, RunLog } from './run-log.js';
import { type Publication, StoreRun } from './store-run.js';
import { manifestDifferences } from './verify.js';

/** Files with fewer bytes are small. One that is written ends with the row group that reaches them. */
const smallBytes = 128 * 1024 * 1024;

interface CompactionContext {
  readonly runId: string;
  readonly runLog: RunLog;
  readonly stores: ObjectStores;
  readonly scratch: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes the small files of each partition that has several as large ones. The caller holds the lock, and publishes the change.
 *
 * @returns The runs before and after, and the change; it is absent if there is nothing to do.
 * @throws {LeadstreamError} `E_STATE_LOG` if the pipeline's runs have another log, in which the next one would not find this run.
 */
export async function prepareCompaction(path: string, { runId, runLog, stores, scratch, signal }: CompactionContext) {
  const table = await tableAt(path, stores);
  const runs = await runsIn(table, await table.version());
  const { run: from = '', manifest } = runs.find(({ state }) => state === 'published') ?? {};
  const evidence: Evidence = (await runLog.has(from)) ? 'sha256' : 'none';
  if (manifest && manifest.fingerprint !== '' && evidence === 'none')
    throw new LeadstreamError('E_STATE_LOG', `the log of runs ${runLog.path} does not have run ${from} of ${path}`);
  // New files get the permissions of the others.
  const [file] = manifest?.files ?? [];
  const found = file && !isRemote(path) ? await stat(table.placeOf(file, { run: from, sha256: '' })).catch(() => undefined) : undefined;
  const permissions = (found?.mode ?? 0o600) & 0o777;
  // The next run of the pipeline removes earlier runs.
  const options = { mode: 'append', permissions, keep: Number.MAX_SAFE_INTEGER } as const;
  // A table that was written in code has no log.
  const context = { at: path, runId, ...(evidence === 'sha256' && { runLog }) };
  const landing = await StoreRun.open(table, options, context, scratch);
  let actions: readonly Action[] | undefined;
  try {
    const publication = landing.before && (await compacted(landing, landing.before, { runId, signal }));
    actions = publication && (await landing.publish(publication));
  } finally {
    if (!actions) await landing.abort();
  }
  return actions ? { from, to: runId, evidence, change: { landing, actions } } : { from, to: from, evidence };
}

/**
 * Keeps the order of the files in the manifest, and that of their rows; in a partition with large files, those come first.
 * Memory: a row group that is read, and one that is written.
 */
async function compacted(
  landing: StoreRun,
  before: Manifest,
  { runId, signal }: Pick<CompactionContext, 'runId' | 'signal'>,
): Promise<Publication | undefined> {
  const partitions = severalSmall(before.files);
  const [first] = partitions.flat();
  if (first === undefined) return undefined;
  const { kind, path: at } = landing;
  await landing.checkRetained(before.files);
  const by = partitionBy(before.schema, before.partition_by, '', kind);
  const columns = by.inFiles;
  const fieldIds = landing.checkColumns(by.columns, by.fields);
  const [read, written] = [createHash('sha256'), createHash('sha256')];
  const addTo = (hash: Hash, rows: readonly Row[]) => {
    for (const row of rows) hash.update(JSON.stringify(columns.map(({ name, type }) => textOf(row[name] ?? null, type))));
  };
  const take = async (name: string, file: PartialFile) => {
    for await (const rows of readGroups(file.path)) addTo(written, rows);
    await landing.take(name, file);
  };
  const create = (folder: string, index: number) => landing.create(folder, index);
  const footer = await landing.reading(first.name, footerOf);
  const codec = footer?.row_groups[0]?.columns[0]?.meta_data?.codec;
  const compression = compressions.find((name) => codecs[name] === codec) ?? 'zstd';
  const files = new DataFiles({ create, take }, runId, await loadEngine('arrow'), columns, {
    encoding: { compression, sortedBy: [], metadata: { 'leadstream.pipeline': before.pipeline }, ...(fieldIds && { fieldIds }) },
    ...{ row_group_rows: 10_000, row_group_bytes: 8_388_608, file_max_bytes: smallBytes, partitioned: false },
    valuesOf: (folder) => (kind === 'iceberg' ? by.valuesOf(folder) : textsIn(folder)),
  });
  const add = async (file: ManifestFile, path: string) => {
    const [difference] = await manifestDifferences(path, file, before);
    if (difference !== undefined) throw new GateError('E_GATE_VERIFY', `${at}: ${difference}`);
    const elements = (await footerOf(path))?.schema.slice(1) ?? [];
    for await (const rows of readGroups(path)) {
      if (signal?.aborted) throw stoppedBy(signal, `${at}: stopped; nothing was published`);
      const found = batchFromRows(rows);
      const known = columns.filter(({ name }) => found.columns.has(name));
      if (known.length < elements.length || elements.some(({ name, field_id: id }) => id !== fieldIds?.get(name)))
        throw new SinkError('E_SINK_FOREIGN', `${at}: ${file.name} has columns that the table does not have`);
      addTo(read, rows);
      const vectors = columns.map(({ name }) => found.columnOrNulls(name));
      const batch = new Batch(rows.length, vectors);
      await files.add(kind === 'iceberg' ? by.split(batch) : [{ folder: folderOf(file), batch }], rows.length);
    }
  };
  try {
    for (const small of partitions) {
      for (const file of small) await landing.reading(file.name, (path) => add(file, path));
      await files.end(folderOf(itemAt(small, 0)));
    }
    const added = await files.finish(undefined);
    if (read.digest('hex') !== written.digest('hex'))
      throw new SinkError('E_SINK_VERIFY', `${at}: rows read back differ from those of the table`);
    const retained = before.files.filter((file) => !partitions.some((small) => small.includes(file)));
    const all = [...retained, ...added.map(({ partition: _partition, statistics: _statistics, ...file }) => file)];
    const bytes = sumOf(all, 'bytes');
    const run = { run_id: runId, replaced: before.run_id, compacted: true, finished_at: new Date().toISOString(), files: all, bytes };
    const keys = before.keys && (await landing.keys());
    return {
      ...{ columns: by.columns, partitions: by.fields, added, retained },
      storeKeys: keys && sha256Text(keys) === before.keys?.sha256 ? (file) => file.append(keys) : undefined,
      manifest: (stored) => ({ ...before, ...run, keys: before.keys && stored && { ...before.keys, ...stored } }),
    };
  } finally {
    await files.discard();
  }
}

/** Returns the small files of each partition that has several. Those of other writers stay as they are. */
function severalSmall(files: readonly ManifestFile[]): readonly (readonly ManifestFile[])[] {
  const small = files.filter(({ rows, bytes, written_by: by }) => rows > 0 && bytes < smallBytes && by !== undefined);
  const folders = small.map(folderOf);
  const partitions = [...new Set(folders)].map((folder) => small.filter((_, index) => folders[index] === folder));
  return partitions.filter(({ length }) => length > 1);
}
