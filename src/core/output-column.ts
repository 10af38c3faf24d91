import type { Column } from './column.js';
import type { DeclaredType, Value } from './types.js';

/** How a sink names its columns: by the service's names, or in snake_case. */
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

/** The column options of every sink. */
export interface OutputOptions {
  readonly types: 'typed' | 'text';
  readonly naming: Naming;
}

/** Returns a column as a sink writes it. */
export function outputColumn({ name, original, type }: Column, { naming, types }: OutputOptions): OutputColumn {
  return { name: naming === 'original' ? original : name, field: name, original, type: types === 'text' ? 'text' : type };
}

/**
 * Returns which values of a column a format cannot hold; `undefined` if it can hold all. It is called once per column. The returned
 * function gives the reason (`is …`, `has …`), or `undefined` for values that the format can hold. The reason depends only on the value,
 * and never includes it.
 */
export type Refuses = (column: OutputColumn) => ((value: Value) => string | undefined) | undefined;
