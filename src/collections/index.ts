export {
  type Collection,
  columnsOf,
  type EndForm,
  type Field,
  originalName,
  type Paging,
  type Registry,
  type RowOf,
  type SecretsOf,
  type Served,
  type TypedRowOf,
  typesOf,
  type TypesOf,
  withheldOf,
} from './define.js';
export { type GeneratedName, generatedNames, generatedRows } from './generated.js';
export { provinceOf } from './provinces.js';
export * from './registry.js';
