export { columnsOf, listOf, originalName, partsOfList, typesOf, withheldOf } from './define.js';
export type { Collection, EndForm, Field, Fields, Paging, Registry, RowOf, SecretsOf, Served, TypedRowOf, TypesOf } from './define.js';
export { type GeneratedName, generatedNames, generatedRows } from './generated.js';
export * from './registry.js';
export * from './zipcodes.js';
