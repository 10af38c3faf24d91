import { catchError, map, tap, type Observable } from 'rxjs';
import { columnsOf } from '../collections/index.js';
import { amountOf, itemAt, type Consistency } from '../core/index.js';
import { batchOf, countOf, KeyMap, shownKey, withBatch, type Ask, type Page } from '../flow/index.js';
import { digestOf, digestsOf, keysOf, type RecordBatch } from '../vector/index.js';
import type { ReadingOptions, ReadKeys } from './options.js';
import type { ListRequest } from './fetch/reader.js';
import { isSequential } from './fetch/request.js';
import { noRows, type ListReader } from './paging.js';

/** The keys of a list, and where the last pass first found each. Memory: 32 bytes per key or expected row, and 4 per row of a pass. */
export class SeenRows {
  readonly #keys: KeyMap;
  /** Marks of this pass are greater. */
  #base = 0;
  #baseBefore = 0;
  #next = 1;
  #sequence: number[] = [];

  constructor(expected = 0) {
    this.#keys = new KeyMap(undefined, 1, expected);
  }

  beginPass(): void {
    this.#baseBefore = this.#base;
    this.#base = this.#next - 1;
    this.#sequence = [];
  }

  has(name: string): boolean {
    return this.#keys.markOf(name) > 0;
  }

  inThisPass(name: string): boolean {
    return this.#keys.markOf(name) > this.#base;
  }

  get place(): number {
    return this.#next - 1;
  }

  /**
   * @param onRow Called with the previous mark of every key; 0 if it had none.
   * @returns The rows with unknown keys; those whose key occurred earlier in this pass, with the place of the first one, counted from 0
   * since the start of the first read, and whether they differ: from it if that is in this batch, otherwise from the first one ever; those
   * that differ within this batch; and the number of rows with other values than the first time, and of keys new in this pass.
   */
  take(batch: RecordBatch, names: readonly string[], onRow?: (before: number) => void) {
    const digests = rowDigestsOf(batch);
    const begin = this.#next;
    const fresh: number[] = [];
    const repeats: { row: number; first: number; differs: boolean }[] = [];
    let changed = 0;
    for (const [row, name] of names.entries()) {
      const { seen, before } = this.#keys.sight(name, itemAt(digests, row), this.#next, this.#base);
      this.#next += 1;
      onRow?.(before);
      if (seen === 'new') fresh.push(row);
      else if (seen === 'changed') changed += 1;
      if (before > this.#base) {
        const differs = before < begin ? seen === 'changed' : itemAt(digests, row) !== itemAt(digests, before - begin);
        repeats.push({ row, first: before - 1, differs });
      } else if (before > this.#baseBefore) this.#sequence.push(before);
    }
    const conflicts = repeats.flatMap(({ row, first, differs }) => (differs && first + 1 >= begin ? [row] : []));
    return { fresh, repeats, conflicts, changed, distinct: names.length - repeats.length };
  }

  get inCommon(): number {
    return this.#sequence.length;
  }

  moved(): number {
    return this.inCommon === 0 ? 0 : outOfSequence(Uint32Array.from(this.#sequence)) / this.inCommon;
  }
}

/** Returns what identifies rows: their keys, or their whole content if the key is missing. */
export function namesOf(batch: RecordBatch, key: readonly string[], onKeyless = () => {}): readonly string[] {
  const nameAt = keysOf(batch, key);
  let textOf: ((row: number) => string) | undefined;
  return Array.from({ length: batch.length }, (_, row) => {
    const name = nameAt(row);
    if (name === undefined) onKeyless();
    return name ?? (textOf ??= textsOf(batch))(row);
  });
}

/** Returns how many numbers to remove, at least, so that the rest increases: n log n, and 4 bytes per number. */
export function outOfSequence(numbers: Uint32Array): number {
  // The smallest last number of an increasing run of each length (patience sorting).
  const ends = new Uint32Array(numbers.length);
  let longest = 0;
  for (const number of numbers) {
    let low = 0;
    let high = longest;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    ends[low] = number;
    if (low === longest) longest += 1;
  }
  return numbers.length - longest;
}

/** Returns a digest for every row, computed once for a batch. */
function rowDigestsOf(batch: RecordBatch): Uint32Array {
  return (batch.digests ??= digestsOf(batch));
}

/** Identifies a page in a few bytes: the number of rows, and the digests of the first and last one. */
export function fingerprintOf(batch: RecordBatch): string {
  const all = rowDigestsOf(batch);
  return [batch.length, all[0], all.at(-1)].join(' ');
}

function textsOf(batch: RecordBatch): (row: number) => string {
  const columns = Array.from(batch.columns).sort(([a], [b]) => (a < b ? -1 : 1));
  return (row) => {
    const fields: string[] = [];
    for (const [name, vector] of columns) {
      const value = vector.value(row);
      if (value !== null) fields.push(name, String(value));
    }
    return JSON.stringify(fields);
  };
}

/** The rows of a page in the first read of a list. */
export type ReadRows = ReturnType<FirstRead['take']>;

/** The first read of a list so far: its rows, and what shows that the list changed meanwhile. */
export class FirstRead implements ReadKeys {
  readonly progress = new ReadProgress();
  readonly seen: SeenRows | undefined;
  /** The digest of each page's keys, by number. */
  readonly digests = new Map<number, number>();
  /** Digests of pages, for reads that do not store keys. */
  readonly #known = new Set<number>();
  distinct = 0;
  repeated = 0;
  drifted = false;
  keyless = false;
  /** Whether every pass may lack rows, or see others, so that none proves anything. */
  blind = false;
  readonly #starts: { readonly page: number; readonly place: number }[] = [];
  /** Pages with another row for a key of an earlier page, and the place of one such row. */
  readonly #suspects = new Map<number, number>();

  readonly reader: ListReader;
  /** By the names of rows that were shown but not read so far: where, and whether before the first page was read. */
  readonly #unread = new Map<string, { readonly request: ListRequest; readonly where: string; readonly isBefore: boolean }>();

  constructor(
    private readonly given: ListReader,
    readonly options: ReadingOptions,
    readonly consistency: Consistency,
  ) {
    const noting = (request: ListRequest) => given.request(request).pipe(tap(({ batch }) => this.#note(request, batch)));
    this.reader = { ...given, request: noting };
    this.seen = consistency.mode === 'off' ? undefined : new SeenRows(options.expectedRows);
    if (this.seen && given.collection.key.length > 0) options.onKeys?.(this);
  }

  /** Takes the next page, or the last one again with more rows. `isStale`: it has no new rows, and is no page that came again. */
  take(page: Page) {
    const { consistency, seen } = this;
    const batch = batchOf(page);
    const names = this.namesOf(batch);
    this.took(names);
    const { position, known } = this.progress.take(page.number, batch, names);
    this.options.onRead?.({ number: page.number, position, digests: rowDigestsOf(batch) });
    const digest = digestOf(names);
    this.digests.set(page.number, digest);
    if (seen) this.#starts.push({ page: page.number, place: seen.place });
    const sighting = seen?.take(batch, names);
    const fresh = sighting?.fresh ?? rowsFrom(known, batch.length);
    const came = known === 0 ? fresh : [...new Set([...fresh, ...rowsFrom(known, batch.length)])].sort((a, b) => a - b);
    const read = known === 0 ? page : withBatch(page, batch.keep(came));
    this.options.onPage?.(read);
    consistency.duplicates += countOf(read) - fresh.length;
    let isStale: boolean | undefined;
    if (known === 0) {
      isStale = batch.length > 0 && (seen ? fresh.length === 0 : this.#known.has(digest));
      this.#known.add(digest);
      consistency.changed += sighting?.changed ?? 0;
    }
    this.distinct += sighting?.distinct ?? 0;
    const repeats = sighting?.repeats.filter(({ row }) => row >= known) ?? [];
    this.repeated += repeats.length;
    this.noteConflicts(batch, sighting?.conflicts ?? [], `on page ${page.number}`);
    const suspect = repeats.find(({ differs }) => differs);
    if (suspect && sighting?.conflicts.length === 0 && !consistency.onDuplicateKey) this.#suspects.set(page.number, suspect.first);
    return { fresh: withBatch(page, batch.keep(fresh)), names, position, repeats, isStale };
  }

  /**
   * Notes rows that may never be read; not those before the range, and not those after the end: of probes, second looks, and pages whose
   * size may be given up.
   */
  #note(request: ListRequest, batch: RecordBatch): void {
    const { reader, seen, progress, options } = this;
    const { page = 1, limit, purpose, fresh = false } = request;
    const isSecond = purpose === 'probe' || fresh;
    const size = limit ?? reader.limit;
    const hasPositions = progress.rows > 0 && !isSequential(reader.collection.served);
    const rowOf = (position: number) => Math.max(0, position - (page - (options.firstPage ?? 1)) * size);
    const shown = [rowOf(options.range?.from ?? 0), hasPositions ? rowOf(progress.rows) : Infinity];
    if (isSecond ? !seen : progress.pages > 0) return;
    const where = request.page === undefined ? 'the list' : `page ${page} of ${amountOf(size, 'row')}`;
    const noted = { request, where, isBefore: !isSecond };
    for (const name of this.namesOf(batch).slice(...shown)) if (!seen?.has(name) && !this.#unread.has(name)) this.#unread.set(name, noted);
  }

  took(names: readonly string[]): void {
    if (this.#unread.size > 0) for (const name of names) this.#unread.delete(name);
  }

  /** Requests again what showed unread rows. @returns The first that still does; rows that are gone are drift. */
  async findUnread(ask: Ask) {
    for (const shown of new Set(this.#unread.values())) {
      if (this.consistency.growing && !shown.isBefore) continue;
      const again$ = this.given.request({ ...shown.request, purpose: 'probe' }).pipe(
        map(({ batch }) => batch),
        catchError(noRows),
      );
      const now = new Set(this.namesOf(await ask(again$)));
      this.consistency.probes += 1;
      const names = [...this.#unread.keys()].filter((name) => this.#unread.get(name) === shown);
      if (names.some((name) => now.has(name))) return shown;
      this.drift(`${shown.where} had rows that were not read, and are gone`);
      this.took(names);
    }
    return undefined;
  }

  namesOf(batch: RecordBatch): readonly string[] {
    return namesOf(batch, this.reader.collection.key, () => (this.keyless = true));
  }

  has(key: string): boolean {
    return this.seen?.has(key) === true;
  }

  /**
   * Requests pages again that had different rows for a key, back to back: if the first page has the same row before and after the other one
   * has another, neither was updated or moved.
   */
  async checkKeys(ask: Ask, again: (page: number) => Observable<RecordBatch | undefined>): Promise<void> {
    for (const [number, place] of evenly([...this.#suspects], maxProbes)) {
      const first = this.#starts.findLast((start) => start.place <= place)?.page ?? number;
      const seen = new SeenRows();
      const look = async (page: number) => {
        const batch = await ask(again(page));
        this.consistency.probes += 1;
        return batch && { batch, ...seen.take(batch, this.namesOf(batch)) };
      };
      const [, there, after] = [await look(first), await look(number), await look(first)];
      // Some services accept a cursor only once.
      if (!there || !after) return;
      const same = new Set(after.repeats.flatMap((repeat) => (repeat.differs ? [] : [repeat.first])));
      const others = there.repeats.flatMap((repeat) => (repeat.differs && same.has(repeat.first) ? [repeat.row] : []));
      this.noteConflicts(there.batch, [...there.conflicts, ...others], `on pages ${first} and ${number}`);
    }
  }

  /** Records drift if a page has other keys when requested again. */
  compare(number: number, again: RecordBatch): void {
    this.consistency.probes += 1;
    if (digestOf(this.namesOf(again)) !== (this.digests.get(number) ?? digestOf([]))) this.drift(`page ${number} has changed`);
  }

  /** Counts rows that are known to share their key with a different row. */
  noteConflicts(batch: RecordBatch, rows: readonly number[], where: string): void {
    const [row] = rows;
    if (row === undefined) return;
    const { consistency } = this;
    const { collection } = this.reader;
    consistency.conflicts += rows.length;
    consistency.conflict ??= `${shownKey(batch.row(row), { ...collection, columns: columnsOf(collection) }) ?? 'one'} ${where}`;
  }

  drift(what: string): void {
    this.drifted = true;
    if (this.consistency.drift.length < maxProbes) this.consistency.drift.push(what);
  }
}

/** Maximum number of places of each kind to check again, and of changes to name. */
export const maxProbes = 8;

/** Returns at most `most` of the items, evenly spaced, with the first and the last. */
export function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}

function rowsFrom(first: number, end: number): readonly number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, row) => first + row);
}

export interface LastPage {
  readonly number: number;
  readonly rows: number;
  readonly name: string;
  readonly fingerprint: string;
}

export class ReadProgress {
  /** Rows before the range, and those on the pages read, including repeated keys. */
  rows = 0;
  pages = 0;
  largest = 0;
  /** Number of the first page that was shorter than an earlier one or the next, and not the last. */
  short: number | undefined;
  last: LastPage | undefined;
  first: string | undefined;

  /** Adds the next page, or the last one again with more rows. @returns Its position, and how many of its rows were already read. */
  take(number: number, batch: RecordBatch, names: readonly string[]): { readonly position: number; readonly known: number } {
    const known = this.last?.number === number ? this.last.rows : 0;
    const position = this.rows - known;
    this.rows = position + batch.length;
    if (known === 0) this.pages += 1;
    this.largest = Math.max(this.largest, batch.length);
    if (known === 0 && batch.length > 0 && this.last && this.last.rows < this.largest) this.short ??= this.last.number;
    this.first ??= names[0];
    const name = names.at(-1);
    if (name !== undefined) this.last = { number, rows: batch.length, name, fingerprint: fingerprintOf(batch) };
    return { position, known };
  }

  /** Returns whether the last page has maximum length, so that the next may have more rows. */
  endsFull(limit: number): boolean {
    return this.last === undefined || this.last.rows >= (this.pages > 1 ? this.largest : limit);
  }
}
