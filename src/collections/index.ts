export { columnsOf, deliveredColumns, originalName, typesOf, type TypesOf, withheldOf } from './columns.js';
export type { Collection, Field, RowOf, SecretsOf, Served, TypedRowOf } from './define.js';
export { type EndForm, endForms, isNumbered, type Paging, schemes } from './paging.js';
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
  type Secrets,
  type User,
} from './registry.js';
