import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SinkError } from '../../errors.js';
import { makeFolders, PartialFile, removeFolders, type Move } from '../../files/index.js';
import { inOrder } from '../in-order.js';
import { project, type Projection, type ProjectionOptions } from '../projection.js';
import type { RunFacts, SinkContext, SinkWriter } from '../sink.js';
import type { ParquetEngine } from './encoder.js';
import type { Manifest } from './manifest.js';
import { Part } from './part.js';
import { Parts, type PartsOptions } from './parts.js';
import { linkName, manifestName, partialEnding, type Table } from './table.js';

/**
 * Opens a new run of a table. The writer holds one row group.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` or `E_SINK_PATH`.
 */
export async function openRun(
  table: Table,
  engine: ParquetEngine,
  options: ProjectionOptions & PartsOptions,
  context: SinkContext,
): Promise<SinkWriter> {
  const previous = await table.published();
  await table.removeDeadRuns();
  const made = await makeFolders(table.folder);
  if (!made.includes(table.folder)) throw new SinkError('E_SINK_PATH', `cannot write ${table.folder}: it belongs to an earlier run`);
  const first = await Part.open(table.folder, table.runId, 0).catch(async (failure: unknown) => {
    await removeFolders(made);
    throw failure;
  });

  let projection: Projection;
  let parts: Parts | undefined;
  return inOrder(context.at, {
    async begin(columns) {
      projection = project(columns, { ...options, refuses: engine.refuses, caseless: true }, context);
      parts = new Parts(table, engine, projection.columns, options, first);
      await parts.begin();
    },
    async write(page) {
      await parts?.add(projection.take(page.rows));
    },
    async finish() {
      const files = (await parts?.finish()) ?? [];
      const rows = files.reduce((sum, file) => sum + file.rows, 0);
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      return {
        rows,
        bytes,
        total: rows,
        unchanged: 0,
        changed: 0,
        setAside: () => Promise.resolve(undefined),
        path: table.path,
        publication: async (facts) => {
          const schema = projection.columns.map((column) => ({ ...column }));
          const manifest = await stageManifest(table, { ...manifestOf(facts), rows, bytes, files, schema });
          return [...(parts?.moves ?? []), manifest, await table.makeLink(), ...(await table.retirement(previous))];
        },
        settle: () => table.prune([table.runId, previous]),
      };
    },
    async abort() {
      await (parts ?? first).discard();
      for (const name of [manifestName + partialEnding, linkName])
        await rm(join(table.folder, name), { force: true }).catch(() => undefined);
      await removeFolders(made);
    },
  });
}

async function stageManifest(table: Table, manifest: Manifest): Promise<Move> {
  const path = join(table.folder, manifestName);
  const file = await PartialFile.open(path + partialEnding, path);
  await file.append(`${JSON.stringify(manifest, null, 2)}\n`);
  await file.close();
  return file.move;
}

function manifestOf(facts: RunFacts): Omit<Manifest, 'rows' | 'bytes' | 'files' | 'schema'> {
  return {
    version: 1,
    run_id: facts.runId,
    pipeline: facts.pipeline,
    fingerprint: facts.fingerprint,
    collection: facts.collection,
    started_at: facts.startedAt,
    finished_at: new Date().toISOString(),
    pages: facts.pages,
    consistency: facts.consistency,
    books: { ...facts.books },
  };
}
