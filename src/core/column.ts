import type { DeclaredType, Value } from './types.js';

/** A row anywhere in a chain: columns in snake_case. A column that a row does not have counts as `null`. */
export type Row = Readonly<Record<string, Value>>;

/** What is known of a column at some point of a chain. */
export interface Column {
  /** Name in rows, expressions and Parquet (snake_case). */
  readonly name: string;
  /** Name under `naming: original`: the service's own. */
  readonly original: string;
  /** Type that the column has after a cast. */
  readonly type: DeclaredType;
  /** Whether the values are in that type already; otherwise they are text. */
  readonly cast: boolean;
  readonly sensitivity: Sensitivity;
  /** The collection's column whose values these are, as they arrived or cast; none for what was computed, masked or joined. */
  readonly source?: string | undefined;
  /** Whether a step before may have given one row several times, so that the columns of the key identify none. Default false. */
  readonly repeated?: boolean | undefined;
  /** Whether it is a field that the service sent and nobody declared, so that nobody knows whom it tells of. Default false. */
  readonly undeclared?: boolean | undefined;
}

/**
 * Who may see a field: `secret` (credential-like: withheld unless named in `reveal`), `personal` (exported as asked,
 * masked in previews, never in errors) or `plain`.
 */
export type Sensitivity = (typeof sensitivities)[number];

export const sensitivities = ['plain', 'personal', 'secret'] as const;

/**
 * The column name of a field: words split at non-alphanumerics and at humps, lower case, joined by underscores.
 *
 * @example
 * snakeCase('CONVERTED ON OFFER'); // 'converted_on_offer'
 * snakeCase('TC_base64ApiKey'); // 'tc_base64_api_key'
 */
export function snakeCase(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return words.length === 0 ? 'field' : words.join('_').toLowerCase();
}

/** The columns behind a step that may give a row several times. */
export function repeated(columns: readonly Column[]): readonly Column[] {
  return columns.map((column) => ({ ...column, repeated: true }));
}

/** Whether a column has the values of one of the collection's, each row once, so that those of a key identify rows. */
export function isOnceOf(source: string, column: Column): boolean {
  return column.source === source && column.repeated !== true;
}

/** The column of a field that nobody declared: text, as it came. @param sensitivity Default: it may be about a person. */
export function undeclaredColumn(name: string, original = name, sensitivity: Sensitivity = 'personal'): Column {
  return { name, original, type: 'text', cast: false, sensitivity, undeclared: true };
}

/** The sensitivity of what is made of all these columns. */
export function strictest(columns: readonly Column[]): Sensitivity {
  const used = columns.map(({ sensitivity }) => sensitivity);
  if (used.includes('secret')) return 'secret';
  return used.includes('personal') ? 'personal' : 'plain';
}
