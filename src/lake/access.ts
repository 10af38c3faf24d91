import { callable, filledText, object } from '../options/index.js';
import type { ObjectStores } from '../store/index.js';

/** How a table on a store is reached. Default: as the environment says. */
export interface TableAccess {
  readonly stores?: ObjectStores | undefined;
}

export const storesTaken = object({ at: callable }, ['at'], 'open');
export const accessTaken = object({ path: filledText, options: object({ stores: storesTaken }) }, ['path']);
