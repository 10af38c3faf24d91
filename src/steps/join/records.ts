import { defer, finalize, map, of, shareReplay, tap, type Observable } from 'rxjs';
import { SourceError, type Row } from '../../core/index.js';
import { keyOf } from '../../vector/index.js';
import { casefold } from '../casefold.js';
import type { Lookup } from '../step.js';

/** Identifiers whose records are remembered. */
const most = 10_000;

/**
 * The records of a collection by their identifiers. One that was asked for is not asked for again, be the answer under way or remembered.
 *
 * Memory: the fields that are kept of the records of the 10,000 identifiers that were wanted last.
 */
export class Records {
  /** Those wanted last come last. */
  readonly #known = new Map<string, readonly Row[]>();
  readonly #underWay = new Map<string, Observable<readonly Row[]>>();

  /**
   * @param id Field that holds the identifier.
   * @param kept Fields that are kept.
   */
  constructor(
    private readonly at: string,
    private readonly lookup: Lookup,
    private readonly id: string,
    private readonly kept: readonly string[],
  ) {}

  /**
   * The records with an identifier.
   *
   * @param rows How many rows want them.
   * @throws {SourceError} By the stream: what `Lookup.find` throws, and `E_SOURCE_ANSWER` for records that nobody asked for.
   */
  of(id: string, rows: number): Observable<readonly Row[]> {
    const { counts } = this.lookup;
    return defer(() => {
      const known = this.#known.get(id);
      const underWay = this.#underWay.get(id);
      counts.hits += known || underWay ? rows : rows - 1;
      if (known) return of(this.#remember(id, known));
      return underWay ?? this.#ask(id);
    });
  }

  #ask(id: string): Observable<readonly Row[]> {
    const { counts } = this.lookup;
    counts.requests += 1;
    const asked$ = this.lookup.find(id).pipe(
      map((records) => this.#withId(id, records)),
      tap((records) => {
        if (records.length === 0) counts.misses += 1;
        this.#remember(id, records);
      }),
      finalize(() => this.#underWay.delete(id)),
      shareReplay({ bufferSize: 1, refCount: true }),
    );
    this.#underWay.set(id, asked$);
    return asked$;
  }

  /** A service may take cases for the same that a join tells apart; one that gives other records has not understood the path. */
  #withId(id: string, records: readonly Row[]): readonly Row[] {
    const idOf = (record: Row) => keyOf([record[this.id] ?? null]);
    if (records.some((record) => casefold(idOf(record) ?? '') !== casefold(id))) {
      const message = `${this.at}: the service was asked for a single record and gave others; use lookup: preload`;
      throw new SourceError('E_SOURCE_ANSWER', 'permanent', message);
    }
    return records
      .filter((record) => idOf(record) === id)
      .map((record) => Object.fromEntries(this.kept.map((field) => [field, record[field] ?? null])));
  }

  #remember(id: string, records: readonly Row[]): readonly Row[] {
    this.#known.delete(id);
    this.#known.set(id, records);
    const [oldest] = this.#known.keys();
    if (this.#known.size > most && oldest !== undefined) this.#known.delete(oldest);
    return records;
  }
}
