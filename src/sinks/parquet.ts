import type { z } from 'zod';
import { SinkError, stoppedBy, type OutputColumn } from '../core/index.js';
import { isCurrent, RestCatalog, OpenedRun, runDateColumn, sharedFormat, storeTable, StoreRun, linkedTable } from '../lake/index.js';
import { dayTemplate, isRemote } from '../store/index.js';
import { loadEngine } from '../parquet/index.js';
import { openInCode } from './alone.js';
import { keyFields } from './keyed.js';
import { outputAt, outputPlaceOf } from './options.js';
import { PhasedWriter, builtInSink, type SinkContext, type SinkWriter } from './sink.js';
import { project } from './projection.js';
import { checkNamedColumns, config, encodingOf, sortPlanOf, type ParquetConfig, sortingOf } from './parquet-options.js';
import { defaultMemory, RowSorter, scratchFolder } from '../engine/index.js';
import { Batch, RecordBatch } from '../vector/index.js';

/** The options of `parquet`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type ParquetOptions = Omit<z.input<ReturnType<typeof config>>, 'where'>;

/**
 * Writes rows to a table of Parquet files. `lake/leads` becomes a link to `lake/.leads.runs/<run>/`, where the files have second names;
 * readers see the earlier run until the link is replaced, in one step.
 *
 * Flags become BOOLEAN, whole numbers INT64, decimals DOUBLE, instants TIMESTAMP (microseconds, UTC), days DATE, texts UTF8; every column may be null.
 *
 * @returns A writer that holds two row groups of at most `row_group_rows` rows: one being collected, one being encoded. With
 * `sort_by: { columns, scope: 'table' }` it also holds rows up to its `memory`, beyond which they are kept in a file until `prepare`.
 * @throws {SinkError} `E_SINK_CONFIG` for invalid options; `E_SINK_PATH` if nothing can be written there; `E_SINK_FOREIGN` if something that leadstream did
 * not create is there.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while something else writes there.
 *
 * @example
 * const out = await parquet({ path: 'lake/leads' });
 * // { age: '42', is_valid: 'yes' }  ->  age: BIGINT 42, is_valid: BOOLEAN true
 */
export async function parquet(options: ParquetOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(parquetSink, options, context);
}

const costOfMerge =
  'merge writes each file with a changed row again, whole; partition by a column that does not change, or, if most rows change, replace';

export const parquetSink = builtInSink({
  name: 'parquet',
  summary: 'Writes a table of typed Parquet files, and replaces the earlier one atomically.',
  config,
  examples: [
    { path: 'lake/leads' },
    { path: 'lake/leads', engine: 'parquetjs-lite', compression: 'gzip' },
    { path: 'lake/leads', mode: 'replace_partitions', partition_by: ['yearmonthday'], sort_by: ['timestamp desc'] },
    { path: 'lake/all_leads', mode: 'append', keep: 3, permissions: '0640' },
    { path: 'lake/leads', mode: 'merge', partition_by: ['yearmonthday'], ignore: ['timestamp'] },
    { path: 'lake/leads', mode: 'merge', history: true, on_missing: 'delete' },
    { path: 'lake/leads', sort_by: { columns: ['timestamp desc', 'lead_id'], scope: 'table', memory: '512MB' } },
  ],
  check: checkNamedColumns,
  costs: ({ mode }, at) => (mode === 'merge' ? `${at}: ${costOfMerge}` : undefined),
  joins: ({ table }) => table === 'plain',
  adds: ({ mode }) => mode === 'append' || mode === 'merge',
  alone: ({ table }) => table !== 'plain',
  catalog: ({ catalog }) => catalog,
  secrets: [
    { path: ['catalog', 'token'] },
    // Client credentials are `id:secret`.
    { path: ['catalog', 'credential'], parts: (value) => [value.slice(value.indexOf(':') + 1)] },
  ],
  folders: ({ partition_by: by, table, history }) =>
    table === 'iceberg' ? [] : [...(history ? [isCurrent.name] : []), ...by.map((name) => (name === dayTemplate ? runDateColumn : name))],
  output: ({ path }, place) => (path === undefined ? undefined : outputAt(path, place)),
  async open(options, context) {
    const engine = await loadEngine(options.engine, options.threads);
    const run = await OpenedRun.open(await landingOf(options, context), engine, options, context);
    let sorted: SortedRows | undefined;
    return new PhasedWriter(context.at, {
      earlier: run.earlier,
      async begin(columns) {
        const isKeyed = options.mode === 'append' || options.mode === 'merge';
        const key = isKeyed ? keyFields(columns, options, context) : [];
        const projection = project(columns, { ...options, required: key, refuses: run.refuses, caseless: true }, context);
        const begun = await run.begin(projection.columns, key, encodingOf(options, projection.columns, context));
        // The whole table is sorted before the first row is written.
        if (sortPlanOf(options).scope === 'table') sorted = new SortedRows(projection.columns, options, context);
        return {
          write: (page) => (sorted ?? begun).write(projection.take(page)),
          soFar: () => Promise.resolve(begun.soFar),
          async prepare() {
            await sorted?.writeTo((batch) => begun.write(batch));
            return begun.prepare();
          },
        };
      },
      async abort(underWay) {
        await underWay;
        await sorted?.close();
        await run.abort();
      },
    });
  },
});

async function landingOf(options: ParquetConfig, context: SinkContext): Promise<StoreRun> {
  const { table: kind } = options;
  const catalog = options.catalog && new RestCatalog({ ...options.catalog, signal: context.signal });
  const path = catalog ? await catalog.location() : outputAt(options.path ?? '', outputPlaceOf(context));
  const objects = context.stores.at(path, options.permissions);
  if (isRemote(path)) {
    await context.stores.check(objects);
    const { store, key } = context.stores.above(path);
    if (!catalog && (await store.find(key)) !== undefined)
      throw new SinkError('E_SINK_FOREIGN', `${path} is an object, where the objects of a table would be below it; choose another path`);
  }
  const shared = !catalog && !context.participant && (await sharedFormat(objects, context.stores));
  if (shared)
    throw new SinkError('E_SINK_FOREIGN', `${path} is published together with others; set publish: together, or choose another path`);
  await catalog?.noteAt(objects);
  const isLinked = kind === 'plain' && !context.participant && !isRemote(path);
  const table = isLinked ? linkedTable(path) : storeTable(objects, kind, catalog, context.participant);
  return StoreRun.open(table, options, context, context.scratch ?? scratchFolder());
}

/** Sorts all rows of a table once they have arrived. Beyond `sort_by.memory` they are in a private folder. */
class SortedRows {
  readonly #sorter: RowSorter;

  constructor(
    private readonly columns: readonly OutputColumn[],
    options: ParquetConfig,
    private readonly context: SinkContext,
  ) {
    const keys = sortingOf(options).map((key) => ({ ...key, type: columns.find(({ field }) => field === key.field)?.type }));
    this.#sorter = new RowSorter(keys, {
      memory: sortPlanOf(options).memory ?? defaultMemory,
      folder: context.scratch ?? scratchFolder(),
      failed: (message) => new SinkError('E_SINK_WRITE', `${context.at}: ${message}`),
    });
  }

  write(rows: Batch): Promise<void> {
    const batch = new RecordBatch(rows.rows, new Map(this.columns.map(({ field }, place) => [field, rows.column(place)])));
    const keys = Array.from(this.#sorter.keysOf(batch).values(), ({ vector }) => vector);
    return this.#sorter.add(batch, keys);
  }

  /** Passes the rows on in sorted order. @throws {LeadstreamError} `E_RUN_ABORTED` after the signal of the run. */
  async writeTo(write: (batch: Batch) => Promise<void>): Promise<void> {
    const sorted = await this.#sorter.finish();
    for (let batch = await sorted.next(); batch.length > 0; batch = await sorted.next()) {
      const { signal } = this.context;
      if (signal?.aborted) throw stoppedBy(signal, 'the run was stopped; nothing was published');
      const columns = this.columns.map(({ field }) => batch.column(field));
      await write(new Batch(batch.length, columns));
    }
    await this.close();
  }

  close(): Promise<void> {
    return this.#sorter.close();
  }
}
