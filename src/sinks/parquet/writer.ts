import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Column } from '../../collections/index.js';
import { SinkError } from '../../errors.js';
import { attempt, makeFolders, removeFolders, type Move } from '../../files/index.js';
import { batchOf } from '../../flow/index.js';
import { inOrder } from '../in-order.js';
import type { OutputColumn } from '../output-column.js';
import { project, type Projection, type Refuses } from '../projection.js';
import type { Published, RunFacts, SinkContext, SinkWriter } from '../sink.js';
import { appending, type Appending } from './table/appending.js';
import { encodingOf, type ParquetConfig } from './config.js';
import type { ParquetEngine } from './encoder.js';
import { KeyIndex } from './table/key-index.js';
import type { Manifest, ManifestFile } from './table/manifest.js';
import { runBefore } from './table/before.js';
import { checkCarried } from './table/carried-parts.js';
import { carried, checkFit } from './table/modes.js';
import { Parts } from './parts.js';
import { notForFolder, partitionBy, type Partitioning } from './partitions.js';
import { indexOf } from './table/reindex.js';
import { carriedInto, stageCarried, stageKeys, stageManifest, stageSuccess } from './table/stage.js';
import { openTo } from './table/folders.js';
import { prune, removeDeadRuns, removeRun } from './table/prune.js';
import type { Table } from './table/table.js';

/** What is settled when the columns are known. */
interface Begun {
  readonly projection: Projection;
  readonly partitioning: Partitioning;
  readonly parts: Parts;
  /** Output columns that identify a row of `append`. */
  readonly key: readonly OutputColumn[];
  readonly index: KeyIndex | undefined;
  readonly appending: Appending | undefined;
}

/**
 * Opens a new run of a table.
 *
 * @returns A writer that holds the row groups which wait to be encoded, and for `append` the key index.
 * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
 * @throws {GateError} `E_GATE_VERIFY` when files are to be kept that are not what their run wrote.
 */
export async function openRun(table: Table, engine: ParquetEngine, options: ParquetConfig, context: SinkContext): Promise<SinkWriter> {
  const { runId, at } = context;
  const { mode, permissions } = options;
  const folder = table.folder(runId);
  const { run: previous, manifest: before } = (await runBefore(table, mode, context)) ?? {};
  await removeDeadRuns(table);
  const made = await table.makeRun(runId, permissions);
  let begun: Begun | undefined;

  async function begin(columns: readonly Column[]): Promise<void> {
    const required = mode === 'append' ? keyFields(columns) : [];
    const projection = project(columns, { ...options, required, refuses, caseless: true }, context);
    const partitioning = partitionBy(projection.columns, options.partition_by, context.runDate());
    const inFiles = partitioning.kept.map((index) => projection.columns[index]).filter((column) => column !== undefined);
    refuseTaken(inFiles, partitioning.names);
    if (inFiles.length === 0)
      throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so there is none left for the files`);
    checkFit(at, mode, before, projection.columns, partitioning.names);
    const key = projection.columns.filter(({ field }) => required.includes(field));
    const index = mode === 'append' ? await openIndex(key) : undefined;
    const left = index && appending(at, index, projection.columns, key, partitioning.kept);
    const parts = new Parts(folder, runId, engine, inFiles, {
      ...options,
      encoding: encodingOf(options, inFiles, context),
      partitioned: partitioning.kept.length < projection.columns.length,
    });
    begun = { projection, partitioning, parts, key, index, appending: left };
    if (mode === 'replace' && partitioning.names.length === 0) await parts.begin();
  }

  /** Readers see folders and files as one table. */
  function refuseTaken(inFiles: readonly OutputColumn[], partitions: readonly string[]): void {
    partitions.forEach((partition, index) => {
      const others = [...namesOf(inFiles), ...partitions.slice(index + 1)];
      const taken = others.find((name) => name.toLowerCase() === partition.toLowerCase());
      if (taken !== undefined)
        throw new SinkError('E_SINK_VALUE', `${at}: the partition ${partition} and the column ${taken} have one name; rename one`);
    });
  }

  function refuses(column: OutputColumn): ReturnType<Refuses> {
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type) ?? byEngine?.(value) : byEngine;
  }

  /** The fields that identify a row. @throws {SinkError} `E_SINK_KEY` when one does not reach the sink. */
  function keyFields(columns: readonly Column[]): readonly string[] {
    const fields = options.key ?? context.key.flatMap((source) => columns.find((column) => column.source === source)?.name ?? []);
    const written = columns.filter(({ name }) => options.columns?.includes(name) ?? true).map(({ name }) => name);
    if (fields.length > 0 && fields.length >= (options.key ?? context.key).length && fields.every((field) => written.includes(field)))
      return fields;
    throw new SinkError('E_SINK_KEY', `${at}: append needs columns that identify a row; name them under key`);
  }

  async function openIndex(key: readonly OutputColumn[]): Promise<KeyIndex> {
    return before && previous !== undefined ? indexOf(table, previous, before, namesOf(key)) : new KeyIndex();
  }

  async function finish() {
    if (!begun) throw new SinkError('E_SINK_VALUE', `${at}: there are no columns to write`);
    const { projection, partitioning, parts, key, index, appending: left } = begun;
    const stays = (written: readonly ManifestFile[]) => carried(mode, before, written);
    const files = await parts.finish(stays([]).length === 0 ? allColumns(projection.columns, partitioning) : undefined);
    const old = stays(files);
    if (mode === 'replace_partitions' && previous !== undefined) await checkCarried(at, table.folder(previous), old);
    const rows = sum(files, 'rows');
    const counts = { unchanged: left?.unchanged ?? 0, changed: left?.changed ?? 0 };

    async function publication(facts: RunFacts): Promise<readonly Move[]> {
      const taken = carriedInto(runId, old, files.length);
      const links =
        previous === undefined
          ? []
          : await stageCarried(table.folder(previous), folder, taken, { permissions, copies: options.keep.copies });
      const keys = index && (await stageKeys(table.keysPath(runId), index, namesOf(key), permissions));
      const all = [...taken.map(({ file }) => file), ...files].sort((a, b) => (a.name < b.name ? -1 : 1));
      const success = options.success_file ? [await stageSuccess(folder, permissions)] : [];
      const [manifest, text] = await stageManifest(table.manifestPath(runId), permissions, {
        ...describe(facts),
        run_id: runId,
        mode,
        replaced: previous,
        partition_by: [...partitioning.names],
        rows: sum(all, 'rows'),
        bytes: sum(all, 'bytes'),
        run: { written: rows, ...counts },
        files: all,
        schema: projection.columns.map((column) => ({ ...column })),
        keys: keys?.entry,
        output: at,
        success_file: options.success_file,
      });
      await context.runLog?.record(table.path, runId, text);
      const moves = [...links, ...parts.moves, ...success, ...(keys ? [keys.move] : []), manifest];
      return [...moves, await table.linkTo(runId), ...(await table.retirement(previous))];
    }

    return {
      rows,
      bytes: sum(files, 'bytes'),
      total: rows + sum(old, 'rows'),
      ...counts,
      path: table.path,
      publication,
      settle: () => prune(table, runId, previous, options.keep.runs),
      setAside,
    };
  }

  async function setAside(): Promise<string> {
    const aside = join(table.refused, runId);
    await makeFolders(table.refused, dirname(table.path));
    await openTo(table.refused, permissions);
    await attempt('E_SINK_WRITE', `cannot put ${folder} aside`, () => rename(folder, aside));
    return aside;
  }

  async function abort(): Promise<void> {
    await begun?.parts.discard();
    await removeRun(table, runId).catch(() => undefined);
    await removeFolders(made);
  }

  const write: SinkWriter['write'] = async (page) => {
    if (!begun) return;
    const batch = begun.projection.take(batchOf(page));
    for (const part of begun.partitioning.split(begun.appending?.take(batch) ?? batch)) await begun.parts.add(part);
  };
  return { ...inOrder(at, { begin, write, finish, abort }), earlier: before && publishedOf(before) };
}

/** Those of the files, then those of the folders. */
function allColumns(columns: readonly OutputColumn[], { kept, columns: partitions }: Partitioning): readonly OutputColumn[] {
  return [...columns.filter((_, index) => kept.includes(index)), ...partitions];
}

function namesOf(columns: readonly OutputColumn[]): readonly string[] {
  return columns.map(({ name }) => name);
}

function publishedOf({ run_id: runId, rows, schema, undeclared, reads }: Manifest): Published {
  return { runId, rows, columns: schema, undeclared, reads };
}

function describe(facts: RunFacts) {
  return {
    version: 1 as const,
    pipeline: facts.pipeline,
    fingerprint: facts.fingerprint,
    collection: facts.collection,
    started_at: facts.startedAt,
    finished_at: new Date().toISOString(),
    pages: facts.pages,
    consistency: facts.consistency,
    undeclared: [...(facts.undeclared ?? [])],
    reads: { ...facts.reads },
    books: { ...facts.books },
  };
}

function sum(files: readonly ManifestFile[], what: 'rows' | 'bytes'): number {
  return files.reduce((total, file) => total + file[what], 0);
}
