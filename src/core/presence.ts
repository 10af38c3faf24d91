/** What identifies a row of the source: its texts, in the order of the collection's key. */
export type SourceKey = readonly string[];

/** Missing keys beyond this number are not requested one by one. */
export const maxSingleReads = 1000;

/**
 * What a run knows of the rows that its source had, for an output that deletes rows. A row of the output that the run did not write is
 * `read` if a step left it out, `rejected` if it may be wrong in this night only, or `unread`; of unread ones, only those that are proven
 * to be missing may be deleted.
 */
export interface SourcePresence {
  /** What the run is of, as in manifests: rows of an output of anything else may be missing because of that. */
  readonly of: Readonly<Record<'fingerprint' | 'service' | 'account' | 'collection', string>>;
  /** Whether the user accepts, once, that many rows are deleted. */
  readonly acceptDeletes: boolean;
  /** Columns of the collection's key. */
  readonly key: readonly string[];
  /** Whether keys that are missing, if that many are, are requested one by one. Otherwise the list alone shows that they are gone. */
  requests(count: number): boolean;
  stateOf(key: SourceKey): 'read' | 'rejected' | 'unread';
  /**
   * Finds out which unread keys are missing from the source, by single reads or by passes over the list.
   *
   * @param at The output, for messages.
   * @param count Number of unread keys.
   * @param keys All of them, unless they are more than `maxSingleReads`.
   * @returns Whether the key at a place of `keys` is missing; if they are more, whether all are. If that could not be found out, none is,
   * and the user is warned.
   * @throws {GateError} `E_GATE_MISSING` if there is too little evidence.
   */
  missing(at: string, count: number, keys: readonly SourceKey[]): Promise<(place: number) => boolean>;
}
