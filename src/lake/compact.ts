import { stat } from 'node:fs/promises';
import { itemAt, LeadstreamError } from '../core/index.js';
import { codecs, compressions, footerOf, loadEngine } from '../parquet/index.js';
import { type Action, isRemote, type ObjectStores, sha256Text } from '../store/index.js';
import { manifestFileOf } from './format.js';
import { tableAt } from './formats.js';
import { runsIn } from './history.js';
import { storedIndex } from './keys.js';
import { folderOf, type Manifest, type ManifestFile, sumOf } from './manifest.js';
import { partitionBy } from './partitions.js';
import { Rewriting } from './rewrite.js';
import { RowShape } from './row-shape.js';
import type { Evidence, RunLog } from './run-log.js';
import { type Publication, StoreRun } from './store-run.js';
import { isIndexed } from './versions.js';

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

/** Keeps the order of the files in the manifest, and that of their rows; in a partition with large files, those come first. */
async function compacted(
  landing: StoreRun,
  before: Manifest,
  { runId, signal }: Pick<CompactionContext, 'runId' | 'signal'>,
): Promise<Publication | undefined> {
  const partitions = severalSmall(before.files);
  const [first] = partitions.flat();
  if (first === undefined) return undefined;
  const { kind } = landing;
  await landing.checkRetained(before.files);
  const by = partitionBy(before.schema, before.partition_by, '', kind);
  const fieldIds = landing.checkColumns(by.columns, by.fields);
  const footer = await landing.reading(first.name, footerOf);
  const codec = footer?.row_groups[0]?.columns[0]?.meta_data?.codec;
  const compression = compressions.find((name) => codecs[name] === codec) ?? 'zstd';
  const { columns: key = [], ignored = [] } = before.keys ?? {};
  const shape = new RowShape(before.schema, key, ignored, kind === 'iceberg' ? [] : by.names);
  const index = await storedIndex(landing, before, shape, true);
  const rewriting = new Rewriting(landing, before, by, {
    ...{ runId, fieldIds, signal, engine: await loadEngine('arrow') },
    written: (name, rows) => index?.locate(name, rows.length, shape.vectorsOf(rows, { name })),
    encoding: { compression, sortedBy: [], metadata: { 'leadstream.pipeline': before.pipeline }, ...(fieldIds && { fieldIds }) },
    ...{ row_group_rows: 10_000, row_group_bytes: 8_388_608, file_max_bytes: smallBytes, partitioned: false },
  });
  try {
    for (const small of partitions) {
      for (const file of small) {
        await rewriting.add(file, (rows, named) => {
          if (isIndexed(file, before.schema)) index?.staying(file, rows.rows, shape.vectorsOf(named, file));
          return [{ folder: folderOf(file), batch: rows }];
        });
      }
      await rewriting.end(folderOf(itemAt(small, 0)));
    }
    const added = await rewriting.finish();
    const retained = before.files.filter((file) => !partitions.some((small) => small.includes(file)));
    const all = [...retained, ...added.map(manifestFileOf)];
    const bytes = sumOf(all, 'bytes');
    // A run that found nothing to change said more than the one that committed.
    const { fingerprint, service, account, undeclared, reads, scope, since } = landing.last ?? before;
    const run = {
      ...{ fingerprint, service, account, undeclared, reads, scope, since },
      run_id: runId,
      replaced: before.run_id,
      compacted: true,
      finished_at: new Date().toISOString(),
      files: all,
      bytes,
    };
    // One that does not say where rows are stays as it is.
    const keys = index || before.keys?.located ? undefined : before.keys && (await landing.keys());
    const isSame = keys && sha256Text(keys) === before.keys?.sha256;
    return {
      ...{ columns: by.columns, partitions: by.fields, added, retained },
      storeKeys: index ? (file) => index.store(file, all) : isSame ? (file) => file.append(keys) : undefined,
      manifest: (stored) => ({ ...before, ...run, keys: before.keys && stored && { ...before.keys, ...stored } }),
    };
  } finally {
    await rewriting.discard();
  }
}

/** Returns the small files of each partition that has several. Those of other writers stay as they are. */
function severalSmall(files: readonly ManifestFile[]): readonly (readonly ManifestFile[])[] {
  const small = files.filter(({ rows, bytes, written_by: by }) => rows > 0 && bytes < smallBytes && by !== undefined);
  const folders = small.map(folderOf);
  const partitions = [...new Set(folders)].map((folder) => small.filter((_, index) => folders[index] === folder));
  return partitions.filter(({ length }) => length > 1);
}
