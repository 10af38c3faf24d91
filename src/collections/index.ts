export { columnsOf, originalName, typesOf, type TypesOf, withheldOf } from './columns.js';
export type { Collection, EndForm, Field, Paging, Registry, RowOf, SecretsOf, Served, TypedRowOf } from './define.js';
export { type GeneratedCounts, type GeneratedName, generatedNames, generatedRows } from './generated.js';
export { provinceOf } from './provinces.js';
export * from './registry.js';
