import { amount, amountOf, compareShare, GateError, maxSingleReads, SinkError } from '../core/index.js';
import type { MergeCounts, SourceKey, SourcePresence } from '../core/index.js';

/** What the last run of an output was of, as far as it said that. */
type LastRun = { readonly [K in keyof SourcePresence['of']]?: string | undefined };

/**
 * The rows of an output that a run did not write, and which of them it deletes: those that a step left out, and those whose keys the
 * source is proven not to have any more. Memory: `maxSingleReads` rows.
 */
export class MissingRows {
  readonly #presence: SourcePresence;
  readonly #candidates: { readonly row: string; readonly key: SourceKey }[] = [];
  #filtered = 0;
  #unread = 0;

  /** @param presence Unknown to programs. */
  constructor(
    private readonly at: string,
    presence: SourcePresence | undefined,
  ) {
    if (!presence) throw new SinkError('E_SINK_CONFIG', `${at}: on_missing: delete needs a pipeline file, which knows what its source had`);
    this.#presence = presence;
  }

  /** @param row What identifies it. @returns `read` if it is deleted, `unread` if the verdict decides on it. A rejected row stays. */
  take(row: string, key: SourceKey): ReturnType<SourcePresence['stateOf']> {
    const state = this.#presence.stateOf(key);
    if (state === 'read') this.#filtered += 1;
    if (state === 'unread') this.#unread += 1;
    if (state === 'unread' && this.#candidates.length <= maxSingleReads) this.#candidates.push({ row, key });
    return state;
  }

  /**
   * Finds out which of the unread rows are missing.
   *
   * @returns Whether each is, of as many as are requested one by one; of more, whether all of them are, or none.
   * @throws {GateError} `E_GATE_MISSING` for too little evidence, `E_GATE_MERGE` if this run and the last one differ.
   */
  async verdict(last: LastRun | undefined): Promise<boolean | ReadonlyMap<string, boolean>> {
    const presence = this.#presence;
    const [unread, filtered] = [this.#unread, this.#filtered];
    // Before anything is requested: a run that then deletes nothing would count as the last one.
    if (!presence.acceptDeletes && unread + filtered > 0) {
      const { of } = presence;
      const rows = `${amountOf(unread + filtered, 'row')} of the table are missing`;
      if (last?.service !== of.service || last.account !== of.account || last.collection !== of.collection)
        throw this.#refused(`${rows}, and the last run was of another service, account or list`);
      if (last.fingerprint !== of.fingerprint && (filtered > 0 || !presence.requests(unread)))
        throw this.#refused(`${rows}, and the pipeline is not the one of the last run`);
    }
    const isMany = unread > maxSingleReads;
    const isMissing = await presence.missing(this.at, unread, isMany ? [] : this.#candidates.map(({ key }) => key));
    return isMany ? isMissing(0) : new Map(this.#candidates.map(({ row }, place) => [row, isMissing(place)]));
  }

  /** @param rows Those of the output before, without marked ones. @throws {GateError} `E_GATE_MERGE` */
  refuseMany(deleted: number, most: number, rows: number): void {
    if (this.#presence.acceptDeletes || deleted === 0 || compareShare(deleted, most, rows) <= 0n) return;
    throw this.#refused(
      `${amount(deleted)} of ${amountOf(rows, 'row')} would be deleted, which is more than max_deleted allows`,
      this.#filtered > 0 || !this.#presence.requests(this.#unread) ? '' : ', or raise max_deleted',
    );
  }

  #refused(what: string, remedy = ''): GateError {
    return new GateError('E_GATE_MERGE', `${this.at}: ${what}; if that is right, run once with --accept-deletes${remedy}`);
  }
}

/** @throws {GateError} `E_GATE_MERGE` for more changed rows than a merge may change. */
export function refuseChanged(
  at: string,
  { before, changed }: Pick<MergeCounts, 'before' | 'changed'>,
  most: number,
  presence: SourcePresence | undefined,
): void {
  if (presence?.acceptDeletes || compareShare(changed, most, before) <= 0n) return;
  const what = `${amount(changed)} of ${amountOf(before, 'row')} changed, which is more than max_changed allows`;
  throw new GateError('E_GATE_MERGE', `${at}: ${what}; if that is right, raise it, or run once with --accept-deletes`);
}
