import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { type DeclaredType, itemAt, type OutputColumn, schema, SinkError, textOf, type Value } from '../../core/index.js';
import { jsonIn } from '../../store/index.js';
import type { AddedFile, TableChange } from '../format.js';
import { folderName } from '../partitions.js';

const action = schema((z) => {
  const path = z.string();
  const features = z.array(z.string()).nullish();
  const partitionValues = z.record(z.string(), z.string().nullable());
  const leadstream = z.object({ run: z.string(), sha256: z.string(), keep: z.int() }).optional();
  // Unknown fields have to be ignored, and stay in what is written again.
  const actions = z.looseObject({
    protocol: z.looseObject({ minReaderVersion: z.int(), minWriterVersion: z.int(), readerFeatures: features, writerFeatures: features }),
    metaData: z.looseObject({ schemaString: z.string(), partitionColumns: z.array(z.string()) }),
    add: z.looseObject({ path, partitionValues, size: z.int(), dataChange: z.boolean(), stats: z.string().nullish() }),
    remove: z.looseObject({ path, dataChange: z.boolean(), deletionTimestamp: z.int().nullish() }),
    commitInfo: z.looseObject({ timestamp: z.int().optional(), operation: z.string().optional(), leadstream }),
  });
  return actions.partial();
});

const recordCount = schema((z) => z.looseObject({ numRecords: z.int() }));
const fields = schema((z) => z.looseObject({ fields: z.array(z.looseObject({ name: z.string(), type: z.unknown() })) }));

/**
 * A line of a commit: an object with one key, the name of the action.
 *
 * @see https://github.com/delta-io/delta/blob/master/PROTOCOL.md#actions
 */
export type Action = z.output<ReturnType<typeof action>>;
export type Add = NonNullable<Action['add']>;
export type Protocol = NonNullable<Action['protocol']>;
export type MetaData = NonNullable<Action['metaData']>;

/** Reads the actions of a commit; `undefined` if one is not as the protocol has it. */
export function actionsIn(body: string): readonly Action[] | undefined {
  const found = body.split('\n').flatMap((line) => (line.trim() === '' ? [] : [action().safeParse(jsonIn(line)).data]));
  return found.every((each) => each !== undefined) ? found : undefined;
}

/** Returns the name of a data file, relative to the root; `undefined` if it is none that may be removed. */
export function nameIn(path: string): string | undefined {
  try {
    const name = decodeURIComponent(path);
    return /^_|^[a-z][a-z\d+.-]*:\/|(?:^|\/)\.{0,2}(?:\/|$)/i.test(name) ? undefined : name;
  } catch {
    return undefined;
  }
}

export function rowsOf({ stats }: Add): number | undefined {
  return recordCount().safeParse(jsonIn(stats ?? '')).data?.numRecords;
}

/** Checks that a table without column mapping can have these columns. @throws {SinkError} `E_SINK_VALUE`. */
export function checkDeltaColumns(at: string, columns: readonly OutputColumn[], by: readonly string[]): void {
  const names = tableColumns(columns, by).map(({ name }) => name);
  const refused = names.find((name) => /[ ,;{}()\n\t=]/.test(name));
  if (refused !== undefined)
    throw new SinkError('E_SINK_VALUE', `${at}: Delta has no column '${refused}': names have no space and none of ,;{}()=; rename it`);
  const letters = names.map((name) => name.toLowerCase());
  const second = names.find((_, index) => letters.indexOf(itemAt(letters, index)) < index);
  if (second !== undefined)
    throw new SinkError('E_SINK_VALUE', `${at}: Delta has no column ${second} next to one that differs only in case; rename one`);
}

/** Returns all columns of a table. Partition columns have the names of their fields, as in folders. */
function tableColumns(columns: readonly OutputColumn[], by: readonly string[]): readonly OutputColumn[] {
  const named = columns.map((column) => (by.includes(column.field) ? { ...column, name: column.field } : column));
  const added = by.filter((field) => columns.every((column) => column.field !== field));
  return [...named, ...added.map((name): OutputColumn => ({ name, field: name, original: name, type: 'date' }))];
}

/** Returns the action for the columns of a change; none if the table has them already. A table keeps its id. */
export function metaDataOf({ columns, manifest }: TableChange, before: MetaData | undefined): readonly Action[] {
  const fields = tableColumns(columns, manifest.partition_by).map(({ name, type, comment }) => {
    return { name, type: typeNames[type], nullable: true, metadata: comment === undefined ? {} : { comment } };
  });
  const schemaString = JSON.stringify({ type: 'struct', fields });
  const partitionColumns = [...manifest.partition_by];
  if (before?.schemaString === schemaString && before.partitionColumns.join() === partitionColumns.join()) return [];
  return [{ metaData: { ...(before ?? newTable()), schemaString, partitionColumns } }];
}

function newTable() {
  // Other writers make checkpoints, and would then remove the beginning of the log.
  const configuration = { 'delta.enableExpiredLogCleanup': 'false' };
  return { id: randomUUID(), format: { provider: 'parquet', options: {} }, configuration, createdTime: Date.now() };
}

const typeNames = {
  text: 'string',
  flag: 'boolean',
  integer: 'long',
  decimal: 'double',
  timestamp: 'timestamp',
  date: 'date',
} as const satisfies Readonly<Record<DeclaredType, string>>;

/** Creates the function that makes the actions for the files of a change. */
export function adding({ columns, manifest }: TableChange): (file: AddedFile) => Action {
  const by = manifest.partition_by;
  const all = tableColumns(columns, by);
  const inFiles = all.filter(({ name }) => !by.includes(name));
  const inFolders = all.filter(({ name }) => by.includes(name));
  // A file without rows is in no partition.
  const valueOf = (file: AddedFile, { name, type }: OutputColumn) =>
    file.rows === 0 ? null : textOf(itemAt(file.partition, by.indexOf(name)), type);
  return (file) => ({
    add: {
      path: encodeURI(file.name).replaceAll(/[?#]/g, encodeURIComponent),
      partitionValues: Object.fromEntries(inFolders.map((column) => [column.name, valueOf(file, column)])),
      size: file.bytes,
      modificationTime: Date.now(),
      dataChange: manifest.compacted !== true,
      stats: statsOf(file, inFiles),
    },
  });
}

/** Returns the JSON of what is known of a file, 64-bit integers with all digits. @see https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics */
function statsOf({ rows, statistics }: AddedFile, columns: readonly OutputColumn[]): string {
  const known = columns.map(({ name, type }) => ({ name, type, of: statistics.get(name) }));
  const nulls = known.flatMap(({ name, of }) => (of ? [`${JSON.stringify(name)}:${of.nulls}`] : []));
  const bounds = (which: 'min' | 'max') => {
    // delta-rs compares with null where the bound of one column is missing, but not where all are.
    if (known.some(({ of }) => of?.nulls !== rows && of?.[which] === undefined)) return '';
    const some = known.flatMap(({ name, type, of }) =>
      of?.[which] === undefined ? [] : [`${JSON.stringify(name)}:${jsonOf(of[which], type)}`],
    );
    return `,"${which}Values":{${some.join()}}`;
  };
  return `{"numRecords":${rows}${bounds('min')}${bounds('max')},"nullCount":{${nulls.join()}}}`;
}

function jsonOf(bound: Value, type: DeclaredType): string {
  if (typeof bound === 'bigint') return String(bound);
  return Object.is(bound, -0) ? '-0.0' : JSON.stringify(bound instanceof Date ? textOf(bound, type) : bound);
}

export function removeOf({ path, partitionValues, size }: Add, dataChange = true): Action {
  return { remove: { path, deletionTimestamp: Date.now(), dataChange, extendedFileMetadata: true, partitionValues, size } };
}

/** Creates the function that returns the folder of the partition of a file, which may be by another writer, as in our names. */
export function folders({ partitionColumns, schemaString }: MetaData): (file: Add) => string {
  const columns = fields().parse(jsonIn(schemaString)).fields;
  const types = partitionColumns.map((column) => columns.find(({ name }) => name === column)?.type);
  return ({ partitionValues: of }) => partitionColumns.map((column, index) => folderIn(column, of[column] ?? '', types[index])).join('/');
}

function folderIn(name: string, text: string, type: unknown): string {
  const of = (value: Value, kind: DeclaredType) => folderName({ name, transform: 'identity' }, value, kind, 'delta');
  if (text !== '' && type === typeNames.decimal) return of(Number(text), 'decimal');
  if (text === '' || type !== typeNames.timestamp) return of(text, 'text');
  return of(new Date(text.endsWith('Z') ? text : `${text.replace(' ', 'T')}Z`), 'timestamp');
}
