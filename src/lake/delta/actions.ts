import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { type DeclaredType, itemAt, type OutputColumn, schema, SinkError, textOf, type Value } from '../../core/index.js';
import { jsonIn } from '../../store/index.js';
import type { AddedFile, TableChange } from '../format.js';
import { folderName } from '../partitions.js';

const action = schema((z) => {
  const path = z.string();
  const partitionValues = z.record(z.string(), z.string().nullable());
  // Rows are those of the table after it. Runs of earlier releases have no counts.
  const counts = z.object({ version: z.int(), actions: z.int(), rows: z.int() }).optional();
  const leadstream = z.object({ run: z.string(), sha256: z.string(), keep: z.int(), counts }).optional();
  const configuration = z.record(z.string(), z.string()).nullish();
  // Unknown fields have to be ignored, and stay in what is written again.
  const actions = z.looseObject({
    protocol: z.looseObject({ minReaderVersion: z.int(), minWriterVersion: z.int() }),
    metaData: z.looseObject({ schemaString: z.string(), partitionColumns: z.array(z.string()), configuration }),
    add: z.looseObject({ path, partitionValues, size: z.int(), dataChange: z.boolean(), stats: z.string().nullish() }),
    remove: z.looseObject({ path, dataChange: z.boolean(), deletionTimestamp: z.int().nullish() }),
    commitInfo: z.looseObject({ timestamp: z.int().optional(), operation: z.string().optional(), leadstream }),
  });
  return actions.partial();
});

const recordCount = schema((z) => z.looseObject({ numRecords: z.int() }));
const fields = schema((z) => {
  const metadata = z.record(z.string(), z.unknown()).default({});
  const field = z.looseObject({ name: z.string(), type: z.unknown(), nullable: z.boolean().optional(), metadata });
  return z.looseObject({ fields: z.array(field) });
});

/**
 * A line of a commit: an object with one key, the name of the action.
 *
 * @see https://github.com/delta-io/delta/blob/master/PROTOCOL.md#actions
 */
export type DeltaAction = z.output<ReturnType<typeof action>>;
export type Add = NonNullable<DeltaAction['add']>;
export type Protocol = NonNullable<DeltaAction['protocol']>;
export type MetaData = NonNullable<DeltaAction['metaData']>;
export type DeltaField = z.output<ReturnType<typeof fields>>['fields'][number];

/** Reads the actions of a commit; `undefined` if one is not as the protocol has it. */
export function actionsIn(body: string): readonly DeltaAction[] | undefined {
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

export function recordCountOf({ stats }: Add): number | undefined {
  return recordCount().safeParse(jsonIn(stats ?? '')).data?.numRecords;
}

/** Returns the columns of a table, by name. */
export function fieldsOf({ schemaString }: MetaData): ReadonlyMap<string, DeltaField> {
  const found = fields().safeParse(jsonIn(schemaString)).data?.fields ?? [];
  return new Map(found.map((field) => [field.name, field]));
}

/** Says what another writer changed that gives rows another meaning, or rules to those that are added; nothing if it is empty. */
export function foreignChange(before: MetaData, now: MetaData): string {
  const found = fieldsOf(now);
  const gone = [...fieldsOf(before).values()].find(({ name, type }) => !isDeepStrictEqual(found.get(name)?.type, type));
  if (gone) return `the column ${gone.name} was renamed, dropped or given another type`;
  if (before.partitionColumns.join() !== now.partitionColumns.join()) return 'it is partitioned by other columns';
  for (const { name, nullable, metadata } of found.values()) {
    if (nullable === false) return `the column ${name} cannot be null`;
    const rule = Object.keys(metadata).find((key) => /^delta\.|^__CHAR_VARCHAR/.test(key));
    if (rule !== undefined) return `the column ${name} has ${rule}`;
  }
  return '';
}

/** Checks that a table without column mapping can have columns of these names. @throws {SinkError} `E_SINK_VALUE`. */
export function checkDeltaNames(at: string, names: readonly string[]): void {
  const refused = names.find((name) => /[ ,;{}()\n\t=]/.test(name));
  if (refused !== undefined)
    throw new SinkError('E_SINK_VALUE', `${at}: Delta has no column '${refused}': names have no space and none of ,;{}()=; rename it`);
  const letters = names.map((name) => name.toLowerCase());
  const second = names.find((_, index) => letters.indexOf(itemAt(letters, index)) < index);
  if (second !== undefined)
    throw new SinkError('E_SINK_VALUE', `${at}: Delta has no column ${second} next to one that differs only in case; rename one`);
}

export function fieldsFor(columns: readonly OutputColumn[]): readonly DeltaField[] {
  return columns.map(({ name, type, comment }) => {
    return { name, type: typeNames[type], nullable: true, metadata: comment === undefined ? {} : { comment } };
  });
}

/** Names a partition column that had another type when it last was one: readers parse the values of removed files, too. Each is a text. */
export function retyped(fields: readonly DeltaField[], by: readonly string[], before: ReadonlyMap<string, unknown>): string | undefined {
  const typeBefore = ({ name, type }: DeltaField) => (by.includes(name) && type !== typeNames.text ? (before.get(name) ?? type) : type);
  const found = fields.find((field) => typeBefore(field) !== field.type);
  return found && `the partition column ${found.name} was ${String(typeBefore(found))} and is ${String(found.type)} in this run`;
}

/**
 * Returns the action for the columns of a change; none if the table has them already. A table keeps its id, its properties, what others said of columns, and
 * the columns that they added.
 */
export function metaDataOf(own: readonly DeltaField[], by: readonly string[], before?: MetaData, others?: ReadonlySet<string>) {
  const known = before ? fieldsOf(before) : new Map<string, DeltaField>();
  const described = own.map((field) => {
    const now = known.get(field.name);
    return now && now.type === field.type ? { ...field, metadata: { ...now.metadata, ...field.metadata } } : field;
  });
  const added = [...known.values()].filter(({ name }) => others?.has(name) && own.every((field) => field.name !== name));
  const schemaString = JSON.stringify({ type: 'struct', fields: [...described, ...added] });
  if (before?.schemaString === schemaString && before.partitionColumns.join() === by.join()) return [];
  return [{ metaData: { ...(before ?? newTable()), schemaString, partitionColumns: [...by] } }];
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
export function adding({ columns, manifest }: TableChange): (file: AddedFile) => DeltaAction {
  const by = manifest.partition_by;
  const inFiles = columns.filter(({ name }) => !by.includes(name));
  const inFolders = columns.filter(({ name }) => by.includes(name));
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

export function removeOf({ path, partitionValues, size }: Add, dataChange = true): DeltaAction {
  return { remove: { path, deletionTimestamp: Date.now(), dataChange, extendedFileMetadata: true, partitionValues, size } };
}

/** Creates the function that returns the folder of the partition of a file, which may be by another writer, as in our names. */
export function folders(metaData: MetaData): (file: Add) => string {
  const [columns, { partitionColumns }] = [fieldsOf(metaData), metaData];
  const types = partitionColumns.map((column) => columns.get(column)?.type);
  return ({ partitionValues: of }) => partitionColumns.map((column, index) => folderIn(column, of[column] ?? '', types[index])).join('/');
}

function folderIn(name: string, text: string, type: unknown): string {
  const of = (value: Value, kind: DeclaredType) => folderName({ name, transform: 'identity' }, value, kind, 'delta');
  if (text !== '' && type === typeNames.decimal) return of(Number(text), 'decimal');
  if (text === '' || type !== typeNames.timestamp) return of(text, 'text');
  return of(new Date(text.endsWith('Z') ? text : `${text.replace(' ', 'T')}Z`), 'timestamp');
}
