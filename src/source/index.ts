export { CollectionStream, connect, type ConnectOptions, driftOf, refuseRead, type Service, untilAborted } from './connect.js';
export {
  checkConnection,
  collectionIn,
  type FindOptions,
  type ReadKeys,
  type ReadOptions,
  type ReadPage,
  registryOf,
  windowOf,
} from './options.js';
export * from './declared.js';
export { Findings } from './decode/findings.js';
export type { CollectionReader, ListRequest } from './fetch/reader.js';
export { createClient, type ServiceClient } from './fetch/client.js';
export { defaultFetchingThreads, prepareFetching } from './fetch/fetching.js';
export { hasPageNumbers, isSequential } from './fetch/request.js';
export { firstQuery, isViolation, type ListRange } from './paging.js';
export { tiesOf } from './linked.js';
export { readPages } from './read.js';
export { namesOf } from './seen-rows.js';
export { accountKey, countedName, inState, removeSpool, sourceOf, spooledSince, sweepSpools } from './spool/folder.js';
export { noSpools, Spools } from './spool/spools.js';
