import type { DeclaredType, Value } from './types.js';

/** A row anywhere in a chain, with columns in snake_case. A missing column counts as `null`. */
export type Row = Readonly<Record<string, Value>>;

/** What is known about a column at some point of a chain. */
export interface Column {
  /** Name in rows, expressions and Parquet (snake_case). */
  readonly name: string;
  /** Name under `naming: original`: the service's own. */
  readonly original: string;
  /** The column's type after a cast. */
  readonly type: DeclaredType;
  /** Whether the values already have that type; otherwise they are text. */
  readonly cast: boolean;
  readonly sensitivity: Sensitivity;
  /** The collection's column that the values come from, as received or cast; `undefined` for computed, masked and joined values. */
  readonly source?: string | undefined;
  /** Whether an earlier step may have repeated rows, so that the key columns no longer identify one. Default false. */
  readonly repeated?: boolean | undefined;
  /** Whether the service sent the field undeclared, so that it is unknown whom it is about. Default false. */
  readonly undeclared?: boolean | undefined;
}

/**
 * Who may see a field: `secret` (credential-like: withheld unless named in `reveal`), `personal` (exported as asked,
 * masked in previews, never in errors) or `plain`.
 */
export type Sensitivity = (typeof sensitivities)[number];

export const sensitivities = ['plain', 'personal', 'secret'] as const;

/** Marks columns as coming after a step that may repeat rows. */
export function repeated(columns: readonly Column[]): readonly Column[] {
  return columns.map((column) => ({ ...column, repeated: true }));
}

/** Returns whether a column has the values of one of the collection's, with each row once, so that key values identify rows. */
export function isOnceOf(source: string, column: Column): boolean {
  return column.source === source && column.repeated !== true;
}

/** Returns the column of an undeclared field: text, as received. @param sensitivity Default: it may be about a person. */
export function undeclaredColumn(name: string, original = name, sensitivity: Sensitivity = 'personal'): Column {
  return { name, original, type: 'text', cast: false, sensitivity, undeclared: true };
}

/** Returns the sensitivity of a value computed from all these columns. */
export function strictest(columns: readonly Column[]): Sensitivity {
  const used = columns.map(({ sensitivity }) => sensitivity);
  if (used.includes('secret')) return 'secret';
  return used.includes('personal') ? 'personal' : 'plain';
}

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
