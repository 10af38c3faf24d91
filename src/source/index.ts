export { CollectionStream, connect, type ConnectOptions, driftOf, refuseRead, type Service, untilAborted } from './connect.js';
export { checkConnection, collectionIn, type FindOptions, type ReadOptions, registryOf, windowOf } from './options.js';
export {
  collectionOf,
  collectionShape,
  collectionsShape,
  type CollectionDeclaration,
  type CollectionOf,
  defineCollection,
  type FieldDeclaration,
} from './declared.js';
export { Findings } from './decode/findings.js';
export type { CollectionReader, ListRequest } from './fetch/reader.js';
export { createClient, type ServiceClient } from './fetch/client.js';
export { defaultFetchingThreads } from './fetch/fetching.js';
export { isSequential } from './fetch/request.js';
export { firstQuery, isViolation } from './paging.js';
export { tiesOf } from './ties.js';
export { readPages } from './read.js';
export { namesOf } from './seen-rows.js';
export { accountKey, countedName, inState, removeSpool, sourceOf, spooledSince, sweepSpools } from './spool/folder.js';
export { noSpools, Spools } from './spool/spools.js';
