export { columnsOf, originalName } from './columns.js';
export type { Collection, Field, RowOf, TypedRowOf } from './define.js';
export { provinceOf } from './provinces.js';
export {
  type AreaCode,
  type Bridge,
  type CollectionName,
  collectionNames,
  collections,
  type Lead,
  type Link,
  type Registry,
  type Rows,
  type User,
} from './registry.js';
