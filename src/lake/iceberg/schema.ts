import { isDeepStrictEqual } from 'node:util';
import { GateError, type OutputColumn } from '../../core/index.js';
import type { PartitionField } from '../format.js';
import type { Manifest } from '../manifest.js';
import { partitionBy } from '../partitions.js';
import type { NestedField, PartitionSpec, TableSchema, Snapshot, TableMetadata } from './metadata.js';
import { primitiveTypes } from './values.js';

type Before = Pick<Manifest, 'schema'> | undefined;

/**
 * Returns the schema of a table with these columns. A field keeps its id as long as name and type stay; every other one gets an id that no field had before,
 * so that a column that returns, or returns with another type, has none of the old values. https://iceberg.apache.org/spec/#schema-evolution
 *
 * @param before The manifest of our last run.
 * @throws {GateError} `E_GATE_SCHEMA` if what other programs made of the table cannot stay.
 */
export function evolvedSchema(metadata: TableMetadata | undefined, before: Before, columns: readonly OutputColumn[]): TableSchema {
  const known = schemaIn(metadata)?.fields ?? [];
  let lastId = metadata?.['last-column-id'] ?? 0;
  const wanted = columns.map(({ name, type: declared, comment }): NestedField => {
    const type = primitiveTypes[declared];
    const same = known.find((field) => field.name === name && field.type === type);
    return { id: same?.id ?? (lastId += 1), name, required: false, type, ...docOf(comment) };
  });
  return evolved(metadata, before, wanted);
}

/** As `evolvedSchema`, for the columns of an earlier run. */
export function restoredSchema(metadata: TableMetadata, before: Before, { 'schema-id': id }: Snapshot): TableSchema {
  const then = metadata.schemas.find((schema) => schema['schema-id'] === id) ?? schemaIn(metadata);
  return evolved(metadata, before, then?.fields ?? []);
}

/** Returns a schema that keeps what is not ours: columns, the order of all, comments, and what is required. */
function evolved(metadata: TableMetadata | undefined, before: Before, wanted: readonly NestedField[]): TableSchema {
  const { fields: known = [], 'identifier-field-ids': identifiers = [] } = schemaIn(metadata) ?? {};
  const own = new Map(before?.schema.map(({ name, comment }) => [name, comment]));
  const kept = wanted.map((field) => {
    const { doc, ...same } = known.find(({ id }) => id === field.id) ?? field;
    return { ...same, name: field.name, ...docOf(doc === own.get(same.name) ? field.doc : doc) };
  });
  const others = known.filter(({ id, name }) => !own.has(name) && wanted.every((field) => field.id !== id));
  const other = others.find(({ name, required }) => required || wanted.some((field) => field.name === name));
  if (other) throw unfit(metadata, `a run that keeps its column ${other.name} has to have it, as ${JSON.stringify(other.type)}`);
  const all = [...kept, ...others];
  const order = metadata?.['sort-orders'].find((each) => each['order-id'] === metadata['default-sort-order-id']);
  const used = [...identifiers, ...(order?.fields ?? []).map((field) => field['source-id'])];
  const lost = known.find(({ id }) => used.includes(id) && !all.some((field) => field.id === id));
  if (lost) throw unfit(metadata, `its order or its key has the column ${lost.name}, which a run has to keep`);
  const isOurOrder = isDeepStrictEqual(
    [...own.keys()],
    known.map(({ name }) => name),
  );
  const theirs = known.flatMap(({ id }) => all.find((field) => field.id === id) ?? []);
  const fields = isOurOrder ? kept : [...theirs, ...kept.filter((field) => !theirs.includes(field))];
  const isEqual = (schema: TableSchema) =>
    isDeepStrictEqual(schema.fields, fields) && isDeepStrictEqual(schema['identifier-field-ids'] ?? [], identifiers);
  const keys = identifiers.length > 0 && { 'identifier-field-ids': identifiers };
  return metadata?.schemas.find(isEqual) ?? { type: 'struct', 'schema-id': nextId(metadata?.schemas, 'schema-id'), fields, ...keys };
}

function docOf(doc: string | undefined) {
  return doc === undefined ? {} : { doc };
}

function schemaIn(metadata: TableMetadata | undefined): TableSchema | undefined {
  return metadata?.schemas.find((schema) => schema['schema-id'] === metadata['current-schema-id']);
}

function unfit(metadata: TableMetadata | undefined, problem: string): GateError {
  return new GateError('E_GATE_SCHEMA', `${metadata?.location} was made or changed by another program: ${problem}`);
}

/** Says what other programs made of our columns and partitions since our last run, so that its rows are no longer what a run takes them for. */
export function changesOf(metadata: TableMetadata, last: Pick<Snapshot, 'schema-id'> | undefined, before: Manifest): readonly string[] {
  const then = metadata.schemas.find((schema) => schema['schema-id'] === last?.['schema-id']);
  const now = schemaIn(metadata)?.fields ?? [];
  return before.schema.flatMap(({ name, type }) => {
    const id = then?.fields.find((field) => field.name === name)?.id;
    const found = now.find((field) => (id === undefined ? field.name === name : field.id === id));
    if (found === undefined) return [`the column ${name} is no longer there`];
    if (found.name !== name) return [`the column ${name} is now ${found.name}`];
    return found.type === primitiveTypes[type] ? [] : [`the column ${name} has another type`];
  });
}

/** @throws {GateError} `E_GATE_SCHEMA` if another program chose partitions that a run does not have. */
export function checkPartitions(metadata: TableMetadata, before: Manifest | undefined, partitions: readonly PartitionField[]): void {
  const now = partitionsIn(metadata);
  if (now === textOf(partitions) || (before && now === textOf(partitionsOf(before)))) return;
  throw unfit(metadata, `it is partitioned by ${now}, which partition_by has to say, too`);
}

/** Returns how a run partitioned a table. */
export function partitionsOf({ schema, partition_by: by }: Manifest): readonly PartitionField[] {
  return partitionBy(schema, by, '', 'iceberg').fields;
}

function partitionsIn(metadata: TableMetadata): string {
  const spec = metadata['partition-specs'].find((each) => each['spec-id'] === metadata['default-spec-id']);
  const sourceOf = (id: number) => schemaIn(metadata)?.fields.find((field) => field.id === id)?.name ?? '';
  return textOf((spec?.fields ?? []).map(({ 'source-id': id, transform, name }) => ({ source: sourceOf(id), transform, name })));
}

function textOf(partitions: readonly Readonly<Record<keyof PartitionField, string>>[]): string {
  return partitions.map(({ source, transform, name }) => `${transform}(${source}) as ${name}`).join(', ') || 'nothing';
}

/** Returns the partition spec of a table, in which equal fields keep their ids: https://iceberg.apache.org/spec/#partition-evolution */
export function specOf(metadata: TableMetadata | undefined, { fields }: TableSchema, partitions: readonly PartitionField[]): PartitionSpec {
  const specs = metadata?.['partition-specs'];
  const known = specs?.flatMap((spec) => spec.fields) ?? [];
  let lastId = metadata?.['last-partition-id'] ?? firstPartitionId - 1;
  const parts = partitions.map(({ source, transform, name }) => {
    const sourceId = fields.find((field) => field.name === source)?.id;
    if (sourceId === undefined) throw new Error(`no column is named ${source}`);
    const same = known.find((part) => part['source-id'] === sourceId && part.transform === transform && part.name === name);
    return { 'source-id': sourceId, 'field-id': same?.['field-id'] ?? (lastId += 1), name, transform };
  });
  const equal = specs?.find((spec) => isDeepStrictEqual(spec.fields, parts));
  return equal ?? { 'spec-id': nextId(specs, 'spec-id'), fields: parts };
}

/** https://iceberg.apache.org/spec/#partition-evolution */
export const firstPartitionId = 1000;

function nextId<Name extends string>(items: readonly Readonly<Record<Name, number>>[] | undefined, name: Name): number {
  return Math.max(-1, ...(items ?? []).map((item) => item[name])) + 1;
}
