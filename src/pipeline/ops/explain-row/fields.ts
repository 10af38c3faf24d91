import { textOf, undeclaredColumn, type Column, type Row, type Value } from '../../../core/index.js';
import type { RowField } from './explanation.js';

/** What is shown of a value that is personal or a credential. */
const hidden = '***';

/** Shows values as texts, and hides those of persons and credentials. */
export class FieldView {
  constructor(private readonly reveal: boolean) {}

  /** The value of a field as text. */
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

/** The columns of a row: those that are declared there, and fields that nobody declared, which may be about a person. */
export function columnsWith(declared: readonly Column[], rows: readonly Row[]): readonly Column[] {
  const known = new Set(declared.map(({ name }) => name));
  const others = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !known.has(name));
  return [...declared, ...others.map((name) => undeclaredColumn(name))];
}
