import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { SinkError } from '../../../core/index.js';

/** `PAR1`, at the start and end of a file. */
export const magic = Uint8Array.of(0x50, 0x41, 0x52, 0x31);

/** The content of a footer. */
export interface FooterFacts {
  readonly createdBy: string;
  readonly schema: SchemaElement[];
  readonly groups: readonly RowGroup[];
  readonly sorting: NonNullable<RowGroup['sorting_columns']>;
  readonly metadata: readonly (readonly [key: string, value: string])[];
}

/** Returns the end of a file: metadata, its length and the magic. */
export function footer({ createdBy, schema, groups, sorting, metadata }: FooterFacts): Uint8Array {
  const file = {
    version: 1,
    created_by: createdBy,
    metadata_length: 0,
    schema,
    num_rows: groups.reduce((sum, group) => sum + group.num_rows, 0n),
    row_groups: groups.map((group) => (sorting.length > 0 ? { ...group, sorting_columns: sorting } : group)),
    key_value_metadata: metadata.map(([key, value]) => ({ key, value })),
  };
  return groups.length === 0 ? withoutGroups(file) : bytesOf(file);
}

function bytesOf(file: FileMetaData): Uint8Array {
  const writer = new ByteWriter();
  // The statistics are already truncated and marked as such.
  writeMetadata(writer, file, Infinity);
  writer.appendBytes(magic);
  return writer.getBytes();
}

/** Header of an empty list of structs in Thrift's compact protocol: length 0, element type 12. */
const emptyStructs = 0x0c;

/**
 * hyparquet-writer writes an empty list with element type 0, which is not a type, and readers that check it refuse the file: arrow-rs, and so
 * DataFusion and daft. The header of the list of row groups is the first byte that differs from the same metadata with one row group.
 */
function withoutGroups(file: FileMetaData): Uint8Array {
  const bytes = bytesOf(file);
  const longer = bytesOf({ ...file, row_groups: [{ columns: [], total_byte_size: 0n, num_rows: 0n }] });
  const head = bytes.findIndex((byte, index) => byte !== longer[index]);
  const isEmptyList = bytes[head] !== undefined && bytes[head] >> 4 === 0;
  if (!isEmptyList) throw new SinkError('E_SINK_WRITE', 'the footer of a file without rows has no list of row groups');
  bytes[head] = emptyStructs;
  return bytes;
}
