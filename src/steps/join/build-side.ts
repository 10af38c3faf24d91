import { itemAt, parserOf, StepError, type DeclaredType, type Value } from '../../core/index.js';
import { batchOf, failureAt, KeyMap, withBatch, type Page } from '../../flow/index.js';
import { comparing, DictionaryVector, keyOf, KeptColumn, keysOf, longer, maxDictionary, memoByKey } from '../../vector/index.js';
import type { RecordBatch, Vector } from '../../vector/index.js';
import { casefold, takeRows } from '../fields.js';
import type { StepRuntime } from '../step.js';

export interface Matching {
  /** Right field by left field. */
  readonly on: Readonly<Record<string, string>>;
  readonly as: string;
  readonly select: readonly string[];
  readonly normalize?: 'casefold' | undefined;
  readonly pick?: Choice | undefined;
  readonly type?: 'left' | 'inner' | undefined;
  /** Right fields that break ties of `pick`. */
  readonly key?: readonly string[] | undefined;
}

/** Matching rows of the other side, by index. A single match needs no list. */
type Matches = number | readonly number[];

/** Index for rows without a match. */
const unmatched = -1;

/** Number of replaced rows below which removing them is not worth the time. */
const negligible = 65_536;

/**
 * Collects the rows of the other side.
 *
 * Memory: the kept columns (see `KeptColumn`), of one row per key under `first`, `max` and `min`; up to 32 bytes per key (see `KeyMap`); and four to
 * eight bytes per row under `all` and `error`.
 */
export class GrowingBuildSide {
  readonly #places = new KeyMap();
  readonly #rings: Rings | undefined;
  readonly #prefers: Preference;
  #columns: ReadonlyMap<string, KeptColumn>;
  #rows = 0;

  constructor(private readonly matching: Matching) {
    const { select, pick = defaultPick, key = [] } = matching;
    this.#rings = pick === 'all' || pick === 'error' ? new Rings() : undefined;
    this.#prefers = preferenceOf(pick, key);
    this.#columns = columnsFor([...select, ...(typeof pick === 'string' ? [] : [...comparedBy(pick), ...key])]);
  }

  /** Adds rows; those with an empty key match nothing. */
  add(batch: RecordBatch): void {
    const { on, normalize } = this.matching;
    const keyAt = keysOf(batch, Object.values(on), normalize && casefold);
    const kept: number[] = [];
    for (let row = 0; row < batch.length; row += 1) {
      const key = keyAt(row);
      if (key !== undefined && this.#place(key, this.#rows + kept.length, { batch, row, kept })) kept.push(row);
    }
    const rows = batch.select([...this.#columns.keys()]).keep(kept);
    for (const [name, column] of this.#columns) column.append(rows.columnOrNulls(name));
    this.#rows += kept.length;
    if (!this.#rings && this.#rows - this.#places.size > Math.max(negligible, this.#places.size)) this.#removeReplaced();
  }

  /**
   * Completes the side, once. No rows can be added afterwards, and what was only needed to add them is released.
   *
   * @returns A function that adds its fields to the rows of pages. If the side is small, all pages share the same dictionaries.
   */
  finish({ at, tally, input }: Pick<StepRuntime, 'at' | 'tally' | 'input'>): (page: Page) => Page {
    const { on, as, select, normalize, pick = defaultPick, type } = this.matching;
    const columns = select.map((name) => columnIn(this.#columns, name));
    for (const column of columns) column.close();
    this.#columns = new Map();
    const [places, rings] = [this.#places, this.#rings];
    const matchOf = (key: string | undefined): Matches => {
      const last = key === undefined ? unmatched : places.get(key);
      return last === unmatched || !rings ? last : rings.of(last);
    };
    const matchesIn = memoByKey(Object.keys(on), matchOf, normalize && casefold);
    const columnsOf =
      this.#rows < maxDictionary
        ? bySharedIndices(columns, this.#rows)
        : (found: readonly number[]) => columns.map((column) => column.take(found));
    const added = select.map((field) => `${as}_${field}`);

    return (page) => {
      const batch = batchOf(page);
      const present = added.find((name) => batch.columns.has(name));
      // A field missing from the plan of a file is one that the service returns undeclared: it gives way.
      if (present !== undefined && input === undefined) throw new StepError('E_STEP_CONFIG', `${at}: ${nameInUse(present)}`);
      const matchesOf = matchesIn(batch);
      const rows: number[] = [];
      const matches: number[] = [];
      const put = (row: number, match: number) => {
        rows.push(row);
        matches.push(match);
      };
      for (let row = 0; row < batch.length; row += 1) {
        const found = matchesOf(row);
        if (typeof found !== 'number' && pick === 'error') {
          const several = `${found.length} rows match on ${Object.values(on).join(' + ')}`;
          throw failureAt(
            { at, page: page.number, index: row, row: batch.row(row) },
            (where) => new StepError('E_STEP_MATCHES', `${at}: ${several} for ${where}; choose one with pick`),
          );
        }
        if (found === unmatched) tally.missed += 1;
        else tally.matched += 1;
        if (found === unmatched && type === 'inner') tally.unmatched += 1;
        else if (typeof found === 'number') put(row, found);
        else {
          tally.expanded += found.length - 1;
          for (const match of found) put(row, match);
        }
      }
      const values = columnsOf(matches).map((column, index) => [itemAt(added, index), column] as const);
      return withBatch(page, takeRows(batch, rows).with(values));
    };
  }

  /** @returns Whether the row is kept, at this index. */
  #place(key: string, place: number, at: Candidate): boolean {
    const known = this.#places.open(key);
    if (known !== unmatched && !this.#rings && !this.#takesPlaceOf(known, at)) return false;
    this.#rings?.add(place, known);
    this.#places.put(place);
    return true;
  }

  #takesPlaceOf(known: number, { batch, row, kept }: Candidate): boolean {
    const pending = kept[known - this.#rows];
    return this.#prefers(
      (name) => batch.columnOrNulls(name).value(row),
      (name) => (pending === undefined ? columnIn(this.#columns, name).value(known) : batch.columnOrNulls(name).value(pending)),
    );
  }

  #removeReplaced(): void {
    const ranks = new Int32Array(this.#rows).fill(-1);
    this.#places.mapValues((place) => (ranks[place] = place));
    const live = ranks.filter((place) => place >= 0);
    live.forEach((place, rank) => (ranks[place] = rank));
    this.#places.mapValues((place) => ranks[place] ?? unmatched);
    const old = this.#columns;
    this.#columns = columnsFor([...old.keys()]);
    for (const [name, column] of this.#columns) {
      const from = columnIn(old, name);
      for (let at = 0; at < live.length; at += 4096) column.append(from.take(Array.from(live.subarray(at, at + 4096))));
    }
    this.#rows = live.length;
  }
}

interface Candidate {
  readonly batch: RecordBatch;
  readonly row: number;
  readonly kept: readonly number[];
}

/** The rows that share a key, as a ring: each index points to the next row, and the last one to the first. */
class Rings {
  #next = new Int32Array(1024);

  /** @param last The last row with the same key so far, or `unmatched`. */
  add(place: number, last: number): void {
    if (place >= this.#next.length) this.#next = longer(this.#next, 2 * this.#next.length);
    this.#next[place] = last === unmatched ? place : this.#after(last);
    if (last !== unmatched) this.#next[last] = place;
  }

  of(last: number): Matches {
    const first = this.#after(last);
    if (first === last) return last;
    const places = [first];
    for (let place = this.#after(first); place !== first; place = this.#after(place)) places.push(place);
    return places;
  }

  #after(place: number): number {
    const next = this.#next[place];
    if (next === undefined) throw new Error(`there is no row ${place} in a ring`);
    return next;
  }
}

function columnsFor(names: readonly string[]): ReadonlyMap<string, KeptColumn> {
  return new Map(names.map((name) => [name, new KeptColumn()]));
}

function columnIn(columns: ReadonlyMap<string, KeptColumn>, name: string): KeptColumn {
  const column = columns.get(name);
  if (!column) throw new Error(`a build side keeps no column ${name}`);
  return column;
}

/** Shares one dictionary of matched rows per column, so that work done for such a row counts for every page. */
function bySharedIndices(columns: readonly KeptColumn[], rows: number): (matches: readonly number[]) => readonly Vector[] {
  const dictionaries = columns.map((): Value[] => [null]);
  /** By index of the row; 0 for a row that has not matched yet. */
  const known = new Uint16Array(rows);
  let last = 0;
  const added = (place: number): number => {
    for (const [at, column] of columns.entries()) dictionaries[at]?.push(column.value(place));
    return (known[place] = last += 1);
  };
  return (matches) => {
    const indices = new Uint16Array(matches.length);
    for (let row = 0; row < indices.length; row += 1) {
      const place = itemAt(matches, row);
      if (place !== unmatched) indices[row] = known[place] || added(place);
    }
    return dictionaries.map((values) => new DictionaryVector(values, indices));
  };
}

/**
 * Which of several matching rows a join takes: the `first` one read, `all` of them, the one with the greatest (`max`) or least (`min`) value, or
 * none: `error`. `type` is the type that texts are compared as, by default decimal; a value that does not cast loses against one that does. Ties go
 * to the row whose key comes first.
 */
export type Choice<Field extends string = string> =
  | 'first'
  | 'all'
  | 'error'
  | { readonly max: Field; readonly type?: DeclaredType | undefined }
  | { readonly min: Field; readonly type?: DeclaredType | undefined };

/** The default for several matches: take none, and fail the run. */
export const defaultPick = 'error';

export function nameInUse(name: string): string {
  return `there is already a field '${name}'; choose another name under as, or leave it out of select`;
}

type ValueOf = (field: string) => Value;

/** Decides whether a row replaces the one kept so far. */
type Preference = (candidate: ValueOf, kept: ValueOf) => boolean;

/** @param key Fields that break ties. */
function preferenceOf(pick: Choice, key: readonly string[]): Preference {
  if (typeof pick === 'string') return () => false;
  const { type = 'decimal' } = pick;
  const field = 'max' in pick ? pick.max : pick.min;
  const [parse, compare] = [parserOf(type), comparing(type, 'min' in pick)];

  function comparable(value: Value) {
    return (typeof value === 'string' ? parse(value) : value) ?? undefined;
  }

  return (candidate, kept) => {
    const [a, b] = [comparable(candidate(field)), comparable(kept(field))];
    if (a === undefined && b !== undefined) return false;
    if (a !== undefined && b === undefined) return true;
    const order = a === undefined || b === undefined ? 0 : compare(a, b);
    return order === 0 ? comesFirst(candidate, kept, key) : order > 0;
  };
}

export function comparedBy(pick: Choice | undefined): readonly string[] {
  if (pick === undefined || typeof pick === 'string') return [];
  return ['max' in pick ? pick.max : pick.min];
}

const compareTexts = comparing('text');

/** Compares keys as text, column by column; a missing value comes last. */
function comesFirst(candidate: ValueOf, kept: ValueOf, key: readonly string[]): boolean {
  for (const column of key) {
    const order = compareTexts(keyOf([candidate(column)]) ?? null, keyOf([kept(column)]) ?? null);
    if (order !== 0) return order < 0;
  }
  return false;
}
