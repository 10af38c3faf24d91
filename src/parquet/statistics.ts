import type { ColumnMetaData, FileMetaData } from 'hyparquet';
import { itemAt, type OutputColumn, type Value } from '../core/index.js';
import { comparing, type Compare } from '../vector/index.js';

/** A footer's statistics of a column. */
export interface ColumnStatistics {
  readonly nulls: number;
  /** Compressed bytes. */
  readonly bytes: number;
  /** Bounds of the values, texts in UTF-8 order; absent if unknown or without values. A cut upper bound is above all values. */
  readonly min?: Value;
  readonly max?: Value;
}

/**
 * Summarizes the row groups of a file that `footerOf` read, by column name. Columns without counts of nulls, as those of parquetjs-lite,
 * are absent. Decimals have no NaN, which sinks refuse; a bound of zero is -0 below and 0 above. Timestamps are exact: files have whole
 * milliseconds.
 */
export function statisticsOf(
  { row_groups: groups }: FileMetaData,
  columns: readonly Pick<OutputColumn, 'name' | 'type'>[],
): ReadonlyMap<string, ColumnStatistics> {
  const found = new Map<string, ColumnStatistics>();
  for (const [index, { name, type }] of columns.entries()) {
    const chunks = groups.map((group) => itemAt(group.columns, index).meta_data);
    const [nulls, bytes] = [sum(chunks, (chunk) => chunk?.statistics?.null_count), sum(chunks, (chunk) => chunk?.total_compressed_size)];
    if (nulls === undefined || bytes === undefined) continue;
    const [min, max] = [bound(chunks, 'min_value', comparing(type)), bound(chunks, 'max_value', comparing(type, true))];
    found.set(name, { nulls, bytes, ...(min !== undefined && { min }), ...(max !== undefined && { max }) });
  }
  return found;
}

type Chunk = ColumnMetaData | undefined;

function sum(chunks: readonly Chunk[], of: (chunk: Chunk) => bigint | undefined): number | undefined {
  const counts = chunks.map(of);
  return counts.includes(undefined) ? undefined : counts.reduce((total: number, count) => total + Number(count), 0);
}

/** Returns the outermost bound of row groups with values; `undefined` if one is unknown. The encoder raises upper bounds that it cuts. */
function bound(chunks: readonly Chunk[], which: 'min_value' | 'max_value', compare: Compare): Value | undefined {
  const filled = chunks.filter((chunk) => chunk?.statistics?.null_count !== chunk?.num_values);
  const bounds = filled.map((chunk) => chunk?.statistics?.[which]);
  const known = bounds.filter((value): value is NonNullable<Value> => value !== undefined && !(value instanceof Uint8Array));
  return known.length < bounds.length ? undefined : known.sort(compare)[0];
}
