import { defer, map, type Observable } from 'rxjs';
import { SourceError, type Row } from '../../core/index.js';
import { LookupCache } from '../../flow/index.js';
import { keyOf } from '../../vector/index.js';
import { casefold } from '../casefold.js';
import type { Lookup } from '../step.js';

/** Number of identifiers whose records are cached. */
const most = 10_000;

/**
 * The records of a collection by identifier. A record is not requested again while its request is under way or its answer cached.
 *
 * Memory: the kept fields of the records of the 10,000 identifiers used last.
 */
export class Records {
  readonly #recent = new LookupCache((id: string) => this.#ask(id), most);

  /**
   * @param at Name of the step in messages.
   * @param id Field that contains the identifier.
   * @param kept Fields to keep.
   */
  constructor(
    private readonly at: string,
    private readonly lookup: Lookup,
    private readonly id: string,
    private readonly kept: readonly string[],
  ) {}

  /**
   * Returns the records with an identifier.
   *
   * @param rows Number of rows that need them.
   * @throws {SourceError} From the stream: whatever `Lookup.find` throws, and `E_SOURCE_ANSWER` for records that were not requested.
   */
  of(id: string, rows: number): Observable<readonly Row[]> {
    return defer(() => {
      this.lookup.counts.hits += this.#recent.has(id) ? rows : rows - 1;
      return this.#recent.of(id);
    });
  }

  #ask(id: string): Observable<readonly Row[]> {
    const { counts, find } = this.lookup;
    counts.requests += 1;
    return find(id).pipe(
      map((records) => {
        const found = this.#withId(id, records);
        if (found.length === 0) counts.misses += 1;
        return found;
      }),
    );
  }

  /** A service may ignore the case of ids, which a join does not. One that returns other records has not understood the path. */
  #withId(id: string, records: readonly Row[]): readonly Row[] {
    const idOf = (record: Row) => keyOf([record[this.id] ?? null]);
    if (records.some((record) => casefold(idOf(record) ?? '') !== casefold(id))) {
      const message = `${this.at}: the service was asked for a single record and returned others; use lookup: preload`;
      throw new SourceError('E_SOURCE_ANSWER', 'permanent', message);
    }
    return records
      .filter((record) => idOf(record) === id)
      .map((record) => Object.fromEntries(this.kept.map((field) => [field, record[field] ?? null])));
  }
}
