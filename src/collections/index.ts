export { columnsOf, originalName } from './columns.js';
export type { Collection, CollectionName, Field, TypedRowOf } from './define.js';
export { provinceOf } from './provinces.js';
export { type AreaCode, type Bridge, collectionNames, collections, type Lead, type Link, type Rows, type User } from './registry.js';
