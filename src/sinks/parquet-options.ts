import type { z } from 'zod';
import { schema, type Column, type OutputColumn } from '../core/index.js';
import { distinct } from '../options/index.js';
import { checkKeyed, keyedOptions, refuseUnkeyed } from './keyed.js';
import { checkColumns, columns, naming, onError, permissions, requireArriving, outputPath, types, where } from './options.js';
import type { SinkContext, SinkPlan } from './sink.js';
import { compressions, engineNames, engines, type Encoding } from '../parquet/index.js';
import { memory, missingDuckdb } from '../engine/index.js';
import { catalogOptions, modes, partitionTerm, runDateColumn, tableKinds } from '../lake/index.js';
import { dayTemplate, isRemote, missingSDK } from '../store/index.js';

const names = schema((z) => distinct(z.array(z.string().min(1))).readonly());
const orders = schema((z) =>
  distinct(z.array(z.string().regex(/^\S+(?: (?:asc|desc))?$/, 'a column, or a column and desc')), (text) => orderOf(text).field),
);

const shape = schema((z) =>
  z.strictObject({
    path: outputPath(
      'Table to write: on this machine a link to the folder of the newest run, which holds the Parquet files; on a store a prefix.',
    ).optional(),
    catalog: catalogOptions().optional().describe('The REST catalog of an Iceberg table, which chooses its place; instead of path.'),
    table: z
      .enum(tableKinds)
      .default('plain')
      .describe('What tells readers which files are the table: nothing else (plain), or the metadata of Apache Iceberg or Delta Lake.'),
    mode: z
      .enum(modes)
      .default('replace')
      .describe(
        'A run replaces the table or partitions, appends rows whose key is new, or merges: it also replaces rows that changed; others stay.',
      ),
    ...keyedOptions('32 to 64 bytes of memory per row of the table'),
    history: z
      .boolean()
      .default(false)
      .describe('Keep every version of a row, with valid_from, valid_to and is_current, the first partition; max_changed is 50% then.'),
    partition_by: names()
      .default([])
      .describe(
        'Columns, or {{ run.date }}, that become folders column=value as in Hive; null and the empty text share one. For Iceberg columns, month(column) and day(column).',
      ),
    success_file: z.boolean().default(false).describe('Write an empty file _SUCCESS. Polars and daft read a folder of data files only.'),
    keep: z.int().min(0).max(1000).default(1).describe('Earlier runs to keep for leadstream rollback. Files that runs share exist once.'),
    engine: z
      .enum(engineNames)
      .default('arrow')
      .describe(
        'Library that encodes: arrow, or parquetjs-lite, slower and without statistics or whole numbers beyond 2^53, for old readers.',
      ),
    compression: z.enum(compressions).optional().describe('Codec. Default zstd, and snappy with parquetjs-lite, which has no zstd.'),
    threads: z
      .int()
      .min(0)
      .max(1)
      .optional()
      .describe('Extra threads that arrow uses; the files are identical. Default: 1 where possible.'),
    row_group_rows: z.int().min(1).max(1_000_000).default(10_000).describe('Rows per row group; memory grows with it.'),
    row_group_bytes: z
      .int()
      .min(1)
      .max(268_435_456)
      .default(8_388_608)
      .describe('Bytes of text (UTF-8) after which a row group is closed, however few rows it has; memory grows with it.'),
    file_max_bytes: z.int().min(1).default(268_435_456).describe('Bytes after which the next file begins, at the end of a row group.'),
    sort_by: z
      .union([
        orders(),
        z.strictObject({
          columns: orders().min(1).describe('Columns to sort by, like [timestamp desc]; nulls come last.'),
          scope: z
            .enum(['row_group', 'table'])
            .default('row_group')
            .describe('What is sorted: each row group, or all rows of the run before the first is written; within each partition.'),
          memory: memory().describe('Memory for the rows with scope: table; more are spilled to a file in the state folder.'),
        }),
      ])
      .prefault([])
      .describe('Columns by which the rows of each row group are sorted, like [timestamp desc]; nulls come last. Or with a scope.'),
    naming: naming('snake_case'),
    types: types('typed'),
    columns: columns(),
    where: where(),
    permissions: permissions(),
    on_error: onError(),
  }),
);

/** The options of a Parquet table. */
export const config = schema(() =>
  shape().superRefine((options, context) => {
    const { engine, mode, key, partition_by: by, columns: only, table } = options;
    const { scope, memory: sortMemory } = sortPlanOf(options);
    const isKeyed = mode === 'append' || mode === 'merge';
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (engine === 'parquetjs-lite') {
      if (options.compression === 'zstd') refuse('compression', `the engine ${engine} has no zstd; it has ${engines[engine].join(', ')}`);
      if (sortingOf(options).length > 0) refuse('sort_by', `the engine ${engine} cannot record a sort order`);
      if (options.threads === 1) refuse('threads', `the engine ${engine} encodes in the main thread only`);
    }
    if (options.path === undefined && !options.catalog) refuse('path', 'is required');
    if (options.path !== undefined && options.catalog) refuse('path', 'the catalog chooses the place of the table; leave path out');
    if (options.catalog && table !== 'iceberg') refuse('catalog', 'is for table: iceberg');
    if (table === 'iceberg' && engine !== 'arrow') refuse('engine', `the engine ${engine} cannot write the field ids that Iceberg needs`);
    if (table === 'iceberg' && by.includes(dayTemplate))
      refuse('partition_by', `Iceberg partitions by columns; derive one with the date of the run`);
    if ((table !== 'plain' || isRemote(options.path ?? '')) && options.success_file)
      refuse('success_file', 'readers of this table take its files from its metadata, so that nobody would look for _SUCCESS');
    if (scope === 'table' && isKeyed)
      refuse(
        'sort_by',
        `mode: ${mode} keeps files of earlier runs as they are, so the table as a whole has no order; use scope: row_group`,
      );
    const missingStore = options.catalog && missingSDK();
    if (missingStore !== undefined) refuse('catalog', missingStore);
    const missing = scope === 'table' ? missingDuckdb() : undefined;
    if (missing !== undefined) refuse('sort_by', missing);
    if (scope !== 'table' && sortMemory !== undefined) refuse('sort_by', 'memory needs scope: table');
    if (mode === 'replace_partitions' && by.length === 0) refuse('mode', 'replace_partitions needs partition_by');
    if (!isKeyed && key) refuse('key', 'key needs mode: append or merge');
    refuseUnkeyed(options, refuse);
    if (options.history && (mode !== 'merge' || options.on_missing === 'mark'))
      refuse('history', 'history needs mode: merge, and on_missing: keep, or delete, which ends versions');
    by.forEach((text, index) => {
      const { field: name } = partitionTerm(text, table);
      if (name !== dayTemplate && only && !only.includes(name))
        context.addIssue({ code: 'custom', path: ['partition_by', index], message: `${name} is not among columns` });
    });
  }),
);

export type ParquetConfig = z.output<ReturnType<typeof config>>;

/** Checks the columns named by the options against those that arrive. */
export function checkNamedColumns(options: ParquetConfig, arriving: readonly Column[], plan: SinkPlan): void {
  const { columns: only, partition_by, table } = options;
  const by = partition_by.map((text) => partitionTerm(text, table).field);
  checkColumns(only, arriving, plan);
  const chosen = arriving.filter(({ name }) => only?.includes(name) ?? true);
  const requireWritten = (name: string, path: readonly (string | number)[], among: readonly Column[]) => {
    if (only?.includes(name) === false) plan.problem(path, `${name} is not among columns`);
    else requireArriving(name, path, among, plan);
  };
  const inFiles = table === 'iceberg' ? chosen : chosen.filter(({ name }) => !by.includes(name));
  if (by.includes(dayTemplate) && chosen.some(({ name }) => name === runDateColumn))
    plan.problem(
      ['partition_by'],
      `${dayTemplate} becomes the column ${runDateColumn}, but a column of that name already exists; rename it`,
    );
  by.forEach((name, index) => name === dayTemplate || requireWritten(name, ['partition_by', index], arriving));
  if (inFiles.length === 0) plan.problem(['partition_by'], 'every column is in partition_by, so none is left for the files');
  const place = ['sort_by', ...sortPlanOf(options).path];
  sortingOf(options).forEach(({ field }, index) => requireWritten(field, [...place, index], inFiles));
  checkKeyed(options, arriving, plan);
}

/** Returns how files with these columns are encoded. */
export function encodingOf(options: ParquetConfig, columns: readonly OutputColumn[], { pipeline }: SinkContext): Encoding {
  const nameOf = (field: string) => columns.find((column) => column.field === field)?.name ?? field;
  return {
    compression: options.compression ?? engines[options.engine][0],
    sortedBy: sortingOf(options).map(({ field, descending }) => ({ column: nameOf(field), descending })),
    metadata: { 'leadstream.pipeline': pipeline },
  };
}

type Sorted = Pick<z.output<ReturnType<typeof shape>>, 'sort_by'>;

/** Returns the content of `sort_by` in a single form, with the path of the columns within the option. */
export function sortPlanOf({ sort_by: by }: Sorted) {
  if ('scope' in by) return { ...by, path: ['columns'] };
  return { columns: by, scope: 'row_group' as const, memory: undefined, path: [] };
}

/** Returns the columns of `sort_by` with their direction. */
export function sortingOf(options: Sorted) {
  return sortPlanOf(options).columns.map(orderOf);
}

/** Parses an order such as `timestamp desc`. */
function orderOf(text: string): { readonly field: string; readonly descending: boolean } {
  const [field = '', direction] = text.split(' ');
  return { field, descending: direction === 'desc' };
}
