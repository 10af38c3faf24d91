import { map, tap, type Observable } from 'rxjs';
import type { Column, Row, Value } from '../../../core/index.js';
import { batchOf, type Page } from '../../../flow/index.js';
import { casefold, type JoinedOn } from '../../../steps/index.js';
import { keyOf } from '../../../vector/index.js';
import type { RowJoin } from './explanation.js';
import type { FieldView } from './fields.js';

interface Part {
  readonly left: string;
  readonly right: string;
  readonly value: Value;
  /** Text that is compared; `undefined` for none. */
  readonly compared: string | undefined;
  agreeing: number;
}

/** Watches the other side of a join pass, and counts what agrees with a row. */
export class JoinTrace {
  readonly #parts: readonly Part[];
  #looked = 0;
  #matches = 0;
  /** Rows that agree once white space and case do not count. */
  #alike = 0;
  #lookup: RowJoin['lookup'] = 'preload';

  constructor(
    private readonly joined: JoinedOn,
    row: Row,
    private readonly input: readonly Column[],
    private readonly view: FieldView,
  ) {
    this.#parts = Object.entries(joined.on).map(([left, right]) => {
      const value = row[left] ?? null;
      return { left, right, value, compared: keyOf([value], joined.normalize), agreeing: 0 };
    });
  }

  /** Pages of the other side, which are looked at as they pass. */
  pages(page$: Observable<Page>): Observable<Page> {
    return page$.pipe(tap((page) => this.#see(batchOf(page).rows)));
  }

  /** Single records of the other side. */
  records(record$: Observable<readonly Row[]>): Observable<readonly Row[]> {
    this.#lookup = 'by_id';
    return record$.pipe(
      map((rows) => {
        this.#see(rows);
        return rows;
      }),
    );
  }

  get result(): RowJoin {
    return {
      with: this.joined.with,
      lookup: this.#lookup,
      key: this.#parts.map(({ left, right, value, compared, agreeing }) => {
        const column = this.input.find(({ name }) => name === left);
        const shown = { type: column?.type ?? 'text', sensitivity: column?.sensitivity ?? 'personal' } as const;
        return {
          left,
          right,
          value: this.view.value(value, shown),
          compared: compared === undefined ? null : this.view.value(compared, { ...shown, type: 'text' }),
          agreeing,
        };
      }),
      normalize: this.joined.normalize && 'casefold',
      looked: this.#looked,
      matches: this.#matches,
      pick: this.joined.pick,
      miss: this.#matches > 0 ? undefined : this.#whyNot(),
    };
  }

  #see(rows: readonly Row[]): void {
    const { normalize } = this.joined;
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
    if (this.#looked === 0)
      return this.#lookup === 'by_id' ? 'the service has no record with that identifier' : `${this.joined.with} has no rows`;
    const rows = (count: number) => `${count.toLocaleString('en-US')} ${count === 1 ? 'row' : 'rows'}`;
    if (this.#alike > 0)
      return `${rows(this.#alike)} would match with normalize: casefold, which ignores white space around texts and case`;
    const none = this.#parts.filter(({ agreeing }) => agreeing === 0).map(({ right }) => right);
    if (none.length > 0) return `no row of ${this.joined.with} has that ${none.join(', and none that ')}`;
    return `each value is in ${this.joined.with}, but no row has all of them`;
  }
}
