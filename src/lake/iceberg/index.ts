export type { Catalog, CatalogTable, Update } from './catalog.js';
export { fileCatalog } from './file-catalog.js';
export { IcebergFormat, type IcebergState } from './format.js';
export { type SnapshotId, tableMetadata, type TableMetadata } from './metadata.js';
export { catalogOptions, notedCatalog, noteKey, RestCatalog, type CatalogOptions } from './rest.js';
