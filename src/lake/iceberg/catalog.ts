import type { PartitionSpec, TableSchema, Snapshot, SnapshotId, SnapshotReference, TableMetadata } from './metadata.js';

/** A table as its catalog knows it. */
export interface CatalogTable {
  /** Grows with every commit. */
  readonly sequence: number;
  readonly metadata: TableMetadata;
  /** Where the metadata is, for readers without the catalog. */
  readonly path?: string | undefined;
}

/**
 * What has the current metadata of one table. A format speaks to it in the updates of Iceberg's REST catalog
 * (`CommitTableRequest` in https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml).
 */
export interface Catalog {
  /** Returns the current table, read anew, or `undefined` if there is none. */
  load(): Promise<CatalogTable | undefined>;
  /**
   * Commits updates of a table, or creates it by those that describe it completely, in one attempt.
   *
   * @param base What `load` returned when the run began.
   * @returns `lost` if another writer changed the table since. As after a rejection, an earlier attempt of the same commit may be the reason: the caller looks that up.
   */
  commit(base: CatalogTable | undefined, updates: readonly Update[]): Promise<CatalogTable | 'lost'>;
}

/** `TableUpdate` of the REST catalog. */
export type Update =
  | { readonly action: 'assign-uuid'; readonly uuid: string }
  | { readonly action: 'upgrade-format-version'; readonly 'format-version': 2 }
  | { readonly action: 'set-location'; readonly location: string }
  | { readonly action: 'add-schema'; readonly schema: TableSchema; readonly 'last-column-id': number }
  | { readonly action: 'set-current-schema'; readonly 'schema-id': number }
  | { readonly action: 'add-spec'; readonly spec: PartitionSpec }
  | { readonly action: 'set-default-spec'; readonly 'spec-id': number }
  | { readonly action: 'add-sort-order'; readonly 'sort-order': TableMetadata['sort-orders'][number] }
  | { readonly action: 'set-default-sort-order'; readonly 'sort-order-id': number }
  | { readonly action: 'set-properties'; readonly updates: Readonly<Record<string, string>> }
  | { readonly action: 'add-snapshot'; readonly snapshot: Snapshot }
  | ({ readonly action: 'set-snapshot-ref'; readonly 'ref-name': string } & SnapshotReference)
  | { readonly action: 'remove-snapshots'; readonly 'snapshot-ids': readonly SnapshotId[] };
