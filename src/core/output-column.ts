import type { Column } from './column.js';
import type { DeclaredType, Value } from './types.js';

/** How a sink names its columns: as the service does, or in snake_case. */
export type Naming = 'original' | 'snake_case';

/** A column as a sink writes it. */
export interface OutputColumn {
  readonly name: string;
  /** Its name in rows. */
  readonly field: string;
  /** The service's own name. */
  readonly original: string;
  /** `text` throughout under `types: text`. */
  readonly type: DeclaredType;
}

/** What every sink can be asked about its columns. */
export interface OutputOptions {
  readonly types: 'typed' | 'text';
  readonly naming: Naming;
}

/** What a sink makes of a column. */
export function outputColumn({ name, original, type }: Column, { naming, types }: OutputOptions): OutputColumn {
  return { name: naming === 'original' ? original : name, field: name, original, type: types === 'text' ? 'text' : type };
}

/**
 * What of a column a format cannot hold; `undefined` when it holds all of it. Asked once per column. The function gives the reason (`is …`,
 * `has …`), or `undefined` for values that the format can hold; it depends on the value only, and never tells it.
 */
export type Refuses = (column: OutputColumn) => ((value: Value) => string | undefined) | undefined;
