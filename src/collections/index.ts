export { columnsOf, deliveredColumns, originalName, typesOf, type TypesOf, withheldOf } from './columns.js';
export type { Collection, Field, Registry, RowOf, SecretsOf, Served, TypedRowOf } from './define.js';
export { type EndForm, endForms, isNumbered, type Paging, schemes } from './paging.js';
export { provinceOf } from './provinces.js';
export * from './registry.js';
export { type GeneratedCounts, type GeneratedName, generatedNames, generatedRows, type StarterJoin, starterJoins } from './starters.js';
