import { textOf, undeclaredColumn, type Column, type Row, type Value } from '../../../core/index.js';
import type { RowField } from './explanation.js';

/** Replacement for a personal value or credential. */
const hidden = '***';

/** Shows values as texts, and hides personal values and credentials. */
export class FieldView {
  constructor(private readonly reveal: boolean) {}

  /** Returns the value of a field as text. */
  value(value: Value, { type, sensitivity }: Pick<Column, 'type' | 'sensitivity'>): string | null {
    const text = textOf(value, type);
    return this.reveal || sensitivity === 'plain' || text === null || text === '' ? text : hidden;
  }

  field(column: Column, row: Row): RowField {
    const { name, type, cast, sensitivity } = column;
    return { name, type: cast ? type : 'text', sensitivity, value: this.value(row[name] ?? null, column) };
  }

  fields(columns: readonly Column[], row: Row): readonly RowField[] {
    return columns.map((column) => this.field(column, row));
  }
}

/** Returns the columns of a row: the declared ones, and undeclared fields, which may be personal. */
export function columnsWith(declared: readonly Column[], rows: readonly Row[]): readonly Column[] {
  const known = new Set(declared.map(({ name }) => name));
  const others = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !known.has(name));
  return [...declared, ...others.map((name) => undeclaredColumn(name))];
}
