import type { SchemaElement } from 'hyparquet';
import { dirname } from 'node:path';
import { amount, amountOf, type DeclaredType } from '../core/index.js';
import { isStoredAs, footerOf } from '../parquet/index.js';
import { encoded } from './partitions.js';
import type { Manifest, ManifestFile } from './manifest.js';

type Columns = readonly { readonly name: string; readonly type: DeclaredType }[];

/** Describes how the footer of a file differs from the manifest's entry for it and for the table. */
export async function footerDifferences(path: string, file: ManifestFile, manifest: Manifest): Promise<readonly string[]> {
  const { name, rows } = file;
  const footer = await footerOf(path);
  if (!footer) return [`${name} has no Parquet footer`];
  const grouped = footer.row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  if (footer.num_rows !== BigInt(rows) || grouped !== footer.num_rows)
    return [
      `${name} has ${amountOf(Number(footer.num_rows), 'row')}, ${amount(Number(grouped))} of them in row groups, but the manifest says ${amount(rows)}`,
    ];
  return [...partitionDifferences(file, manifest), ...columnDifferences(footer.schema.slice(1), file, manifest)];
}

/** Describes folders that readers would take for other columns than those in the manifest. */
function partitionDifferences({ name, rows }: ManifestFile, { partition_by: by }: Manifest): readonly string[] {
  if (rows === 0 && !name.includes('/')) return [];
  const levels = name.split('/').slice(0, -1);
  const found = levels.map((level) => level.slice(0, level.indexOf('=')));
  return found.join('/') === by.map(encoded).join('/') ? [] : [`${name} is not in the partition folders ${by.join(', ') || '(none)'}`];
}

/** Returns the columns of a file: those of the table, without the ones in its folders. */
function columnsOf(name: string, { schema, partition_by: by }: Manifest): Columns {
  const inFiles = schema.filter(({ field }) => !by.includes(field));
  if (by.length === 0 || dirname(name) !== '.') return inFiles;
  return [...inFiles, ...by.map((field) => ({ name: field, type: schema.find((column) => column.field === field)?.type ?? 'date' }))];
}

/** Compares the columns; a file written by an earlier run may lack columns added later. */
function columnDifferences(found: readonly SchemaElement[], { name, written_by: by }: ManifestFile, manifest: Manifest): readonly string[] {
  const columns = columnsOf(name, manifest);
  const typeOf = new Map(columns.map((column) => [column.name, column.type]));
  const here = new Set(found.map((element) => element.name));
  const listed = (what: string, names: readonly string[]) => (names.length === 0 ? [] : [`${name} ${what}: ${names.join(', ')}`]);
  const namesOf = (elements: readonly { readonly name: string }[]) => elements.map((element) => element.name);
  return [
    ...listed('has columns that the manifest does not list', namesOf(found.filter((element) => !typeOf.has(element.name)))),
    ...listed('has columns with other types than the manifest says', namesOf(found.filter((element) => hasOtherType(element, typeOf)))),
    ...listed(
      'lacks columns that the manifest lists',
      by === manifest.run_id ? namesOf(columns.filter((column) => !here.has(column.name))) : [],
    ),
  ];
}

function hasOtherType(element: SchemaElement, types: ReadonlyMap<string, DeclaredType>): boolean {
  const type = types.get(element.name);
  return type !== undefined && !isStoredAs(type, element);
}
