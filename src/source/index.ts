export { CollectionStream, driftOf, refuseUnstable, untilAborted } from './connect.js';
export { connect, type ConnectOptions, type Service } from './connect.js';
export { checkConnection, collectionIn, registryOf } from './options.js';
export {
  collectionOf,
  collectionShape,
  collectionsShape,
  type CollectionDeclaration,
  type CollectionOf,
  defineCollection,
  type FieldDeclaration,
} from './declared.js';
export { discoveredColumns, discoveredIn, type Findings } from './decode/findings.js';
export type { Scanned } from './decode/scan.js';
export type { ListRequest } from './fetch/reader.js';
export { createClient, type ServiceClient } from './fetch/client.js';
export type { CollectionReader } from './fetch/reader.js';
export { defaultFetchingThreads, prepareFetching } from './fetch/fetching.js';
export { type FindOptions, type ReadOptions, windowOf } from './options.js';
export { firstQuery } from './paging.js';
export { readPages } from './read.js';
export { namesOf } from './seen-rows.js';
export { accountKey, countedName, sourceOf } from './spool/folder.js';
export { noSpools, Spools } from './spool/spools.js';
export { inState, removeSpool, spooledSince, sweepSpools } from './spool/folder.js';
