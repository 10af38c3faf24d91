import type { DeclaredType } from '../../../core/index.js';
import { Utf8Builder, type ColumnBuilder } from '../../../vector/index.js';
import { layouts, Scalars } from './scalars.js';

export function columnBuilder(type: DeclaredType): ColumnBuilder {
  return type === 'text' ? new Utf8Builder() : new Scalars(layouts[type]);
}
