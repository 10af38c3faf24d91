export { CollectionStream } from './collection-stream.js';
export { connect, type ConnectOptions, type Service } from './connect.js';
export { checkConnection, collectionIn, registryOf } from './connect-options.js';
export {
  collectionOf,
  type CollectionDeclaration,
  type CollectionOf,
  defineCollection,
  type FieldDeclaration,
} from './declared/declaration.js';
export { collectionShape, collectionsShape } from './declared/shape.js';
export { discoveredColumns, discoveredIn, type Findings } from './decode/findings.js';
export { nameShape, readList, readSingle } from './decode/records.js';
export type { Scanned } from './decode/scan.js';
export { declaredPage, endFormOf } from './fetch/declared-page.js';
export { listQuery } from './fetch/list-query.js';
export { isSequential, positionAt, type Position } from './fetch/position.js';
export { createClient, type ServiceClient } from './fetch/client.js';
export type { CollectionReader } from './fetch/reader.js';
export { defaultFetchingThreads, prepareFetching } from './fetch/fetching.js';
export { type FindOptions, type ReadOptions, windowOf } from './options.js';
export { firstQuery } from './paging.js';
export { readPages } from './read.js';
export { inState } from './spool/place.js';
export { accountKey, countedName, sourceOf } from './spool/source.js';
export { spooledSince } from './spool/spooled-since.js';
export { type Spools, noSpools, openSpools } from './spool/spools.js';
export { removeSpool, sweepSpools } from './spool/sweep.js';
export { driftOf, refuseUnstable } from './verdict.js';
