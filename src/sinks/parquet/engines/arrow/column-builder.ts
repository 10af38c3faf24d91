import type { DeclaredType } from '../../../../collections/index.js';
import type { ColumnBuilder } from './column-bytes.js';
import { layouts, Scalars } from './scalars.js';
import { TextColumn } from './text-column.js';

export function columnBuilder(type: DeclaredType): ColumnBuilder {
  return type === 'text' ? new TextColumn() : new Scalars(layouts[type]);
}
