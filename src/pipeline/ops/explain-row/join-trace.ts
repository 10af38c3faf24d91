import { tap, type Observable } from 'rxjs';
import { amountOf, isAddressable, itemAt, type Column, type Row, type Value } from '../../../core/index.js';
import { batchOf, type Page } from '../../../flow/index.js';
import { casefold, type JoinedOn } from '../../../steps/index.js';
import { keyOf } from '../../../vector/index.js';
import type { RowJoin } from './explanation.js';
import type { FieldView } from './fields.js';

interface Part {
  readonly left: string;
  readonly right: string;
  readonly value: Value;
  /** The text that is compared; `undefined` if empty. */
  readonly compared: string | undefined;
  agreeing: number;
}

/** What is known about the rows that pass through a join. */
interface Joining {
  readonly joined: JoinedOn;
  readonly input: readonly Column[];
  readonly view: FieldView;
}

/** Maximum number of rows that are compared with the other side one by one. */
const mostRows = 100;

/** Observes the other side of a join, for each arriving row. */
export class JoinTrace {
  readonly #rows: readonly RowTrace[];

  constructor(rows: readonly Row[], joining: Joining) {
    this.#rows = rows.slice(0, mostRows).map((row) => new RowTrace(row, joining));
  }

  /** Notes that the other side is requested by single records. */
  looksUp(): void {
    for (const row of this.#rows) row.looksUp();
  }

  /** Observes pages of the other side. */
  pages(page$: Observable<Page>): Observable<Page> {
    return page$.pipe(
      tap((page) => {
        const rows = batchOf(page).rows();
        for (const row of this.#rows) row.see(rows);
      }),
    );
  }

  /** Observes single records of the other side, by identifier. */
  records(id: string, record$: Observable<readonly Row[]>): Observable<readonly Row[]> {
    return record$.pipe(
      tap((rows) => {
        for (const row of this.#rows) if (row.looksFor(id)) row.see(rows);
      }),
    );
  }

  /** Returns the result. @param missed Rows without a match. */
  result(missed: number): RowJoin {
    const results = this.#rows.map((row) => row.result);
    const shown = Math.max(
      results.findIndex(({ miss }) => miss !== undefined),
      0,
    );
    return { row: shown + 1, ...itemAt(results, shown), missed };
  }
}

/** Counts what agrees with one row. */
class RowTrace {
  readonly #parts: readonly Part[];
  #looked = 0;
  #matches = 0;
  /** Number of rows that agree when white space and case are ignored. */
  #alike = 0;
  #lookup: RowJoin['lookup'] = 'preload';

  constructor(
    row: Row,
    private readonly joining: Joining,
  ) {
    const { on, normalize } = joining.joined;
    this.#parts = Object.entries(on).map(([left, right]) => {
      const value = row[left] ?? null;
      return { left, right, value, compared: keyOf([value], normalize), agreeing: 0 };
    });
  }

  looksUp(): void {
    this.#lookup = 'by_id';
  }

  /** Returns whether a single record with that identifier is the one that the row needs. */
  looksFor(id: string): boolean {
    return this.#parts.every(({ value }) => value === id);
  }

  get result(): Omit<RowJoin, 'row' | 'missed'> {
    const { joined, input, view } = this.joining;
    return {
      with: joined.with,
      lookup: this.#lookup,
      key: this.#parts.map(({ left, right, value, compared, agreeing }) => {
        const column = input.find(({ name }) => name === left);
        const shown = { type: column?.type ?? 'text', sensitivity: column?.sensitivity ?? 'personal' } as const;
        return {
          left,
          right,
          value: view.value(value, shown),
          compared: compared === undefined ? null : view.value(compared, { ...shown, type: 'text' }),
          agreeing,
        };
      }),
      normalize: joined.normalize && 'casefold',
      looked: this.#looked,
      matches: this.#matches,
      pick: joined.pick,
      miss: this.#matches > 0 ? undefined : this.#whyNot(),
    };
  }

  /** Compares rows of the other side. */
  see(rows: readonly Row[]): void {
    const { normalize } = this.joining.joined;
    for (const row of rows) {
      this.#looked += 1;
      let agreeing = 0;
      let alike = 0;
      for (const part of this.#parts) {
        const right = row[part.right] ?? null;
        const agrees = part.compared !== undefined && keyOf([right], normalize) === part.compared;
        if (agrees) {
          part.agreeing += 1;
          agreeing += 1;
        }
        if (agrees || (part.compared !== undefined && keyOf([right], casefold) === keyOf([part.value], casefold))) alike += 1;
      }
      if (agreeing === this.#parts.length) this.#matches += 1;
      else if (alike === this.#parts.length) this.#alike += 1;
    }
  }

  #whyNot(): string {
    const empty = this.#parts.filter(({ compared }) => compared === undefined).map(({ left }) => left);
    if (empty.length > 0) return `${empty.join(' and ')} ${empty.length > 1 ? 'are' : 'is'} empty, and empty values never match`;
    if (this.#looked === 0 && this.#lookup === 'preload') return `${this.joining.joined.with} has no rows`;
    if (this.#looked === 0)
      return this.#parts.every(({ compared = '' }) => isAddressable(compared))
        ? 'the service has no record with that identifier'
        : 'that identifier cannot be part of a URL path, so no record is requested; lookup: preload compares it';
    if (this.#alike > 0)
      return `${amountOf(this.#alike, 'row')} would match with normalize: casefold, which ignores case and surrounding whitespace`;
    const none = this.#parts.filter(({ agreeing }) => agreeing === 0).map(({ right }) => right);
    if (none.length > 0) return `no row of ${this.joining.joined.with} has that ${none.join(', and none has that ')}`;
    return `each value is in ${this.joining.joined.with}, but no row has all of them`;
  }
}
