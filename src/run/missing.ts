import { firstValueFrom, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { amount, amountOf, type Column, type Consistency, GateError, isOnceOf, maxSingleReads } from '../core/index.js';
import type { Row, SourceKey, SourcePresence, Warning } from '../core/index.js';
import { batchOf, KeyMap, type Page } from '../flow/index.js';
import { isViolation, type ReadKeys, untilAborted } from '../source/index.js';
import { keyOf, keysOf } from '../vector/index.js';

interface PresenceOptions extends Pick<SourcePresence, 'of' | 'acceptDeletes'> {
  readonly collection: Collection;
  readonly consistency: Consistency;
  /** Whether all of the list is read. */
  readonly isWhole: () => boolean;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Finds the records with an identifier. */
  find(id: string): Observable<readonly Row[]>;
  /** @throws {GateError} `E_GATE_STRICT` under `strict`. */
  warn(warning: Warning): void;
}

/** Number of rows that were read first whose single reads must find them. The last row is one more. */
const firstControls = 3;

/** Which rows the source of a run had: what was read, what was rejected, and, for the rest, how much proof there is that it is missing. */
export class SourceRows implements SourcePresence {
  /** Keys of the rows that were read, once the read begins; `undefined` if they are not kept. */
  #read: ReadKeys | undefined;
  readonly #rejected = new KeyMap();
  /** Whether a row was rejected that cannot be told from others. */
  #isUntold = false;
  /** Some rows that were read, by their keys. */
  readonly #controls: SourceKey[] = [];
  #last: SourceKey | undefined;

  readonly of: SourcePresence['of'];
  readonly acceptDeletes: boolean;
  readonly key: readonly string[];

  constructor(private readonly options: PresenceOptions) {
    this.of = options.of;
    this.acceptDeletes = options.acceptDeletes;
    this.key = options.collection.key;
  }

  readonly onKeys = (read: ReadKeys): void => void (this.#read = read);

  readonly onPage = (page: Page): void => {
    const batch = batchOf(page);
    const keyAt = keysOf(batch, this.key);
    const sourceKey = (row: number) => this.key.map((name) => String(batch.columnOrNulls(name).value(row)));
    if (batch.length === 0) return;
    if (this.#controls.length < firstControls && keyAt(0) !== undefined) this.#controls.push(sourceKey(0));
    if (keyAt(batch.length - 1) !== undefined) this.#last = sourceKey(batch.length - 1);
  };

  /** @param columns Those where the row was rejected: the key may have other names there, or be gone. */
  readonly onReject = (columns: readonly Column[], row: Row): void => {
    const names = this.key.map((source) => columns.find((column) => isOnceOf(source, column))?.name);
    const key = keyOf(names.map((name) => (name === undefined ? null : (row[name] ?? null))));
    if (key === undefined) this.#isUntold = true;
    else this.#rejected.add(key);
  };

  stateOf(key: SourceKey): 'read' | 'rejected' | 'unread' {
    const text = keyOf(key) ?? '';
    if (this.#rejected.get(text) >= 0) return 'rejected';
    return this.#read?.has(text) ? 'read' : 'unread';
  }

  requests(count: number): boolean {
    const { key, id, served } = this.options.collection;
    return !served && key.includes(id) && count <= maxSingleReads;
  }

  async missing(at: string, count: number, keys: readonly SourceKey[]): Promise<(place: number) => boolean> {
    const { collection, consistency } = this.options;
    const { name } = collection;
    if (count === 0) return () => false;
    const rows = `${amountOf(count, 'row')} of the output ${count === 1 ? 'has a key' : 'have keys'} that ${name} did not have`;
    if (this.#isUntold) return this.#kept(`${at}: ${rows}, and a row without its key was rejected`);
    if (this.#read?.keyless) return this.#kept(`${at}: ${rows}, and a row without its key was read`);
    if (this.#last === undefined) return this.#kept(`${at}: ${rows}, and no row was read at all (mode: replace empties a table)`);
    const isProven = consistency.outcome === 'proven';
    const isCounted = consistency.counted === 'rows' && (consistency.outcome === 'stable' || consistency.outcome === 'repaired');
    const refused = (why: string) => new GateError('E_GATE_MISSING', `${at}: ${rows}, but ${why}`);
    if (!this.#read || !this.options.isWhole()) throw refused('it is not known whether the whole list was read');
    if (!isProven && !isCounted)
      throw refused('its rows could not be counted, so its end is not certain enough to delete any; set consistency: prove');
    if (this.requests(count)) return this.#requested(at, rows, keys);
    const why = count > maxSingleReads ? `more than ${amount(maxSingleReads)} are not requested one by one` : 'it has no single reads';
    if (!isProven) throw refused(`${why}; set consistency: prove, so that a second pass shows that they are gone`);
    return () => true;
  }

  /** Requests keys one by one, between requests of rows that are there. */
  async #requested(at: string, rows: string, keys: readonly SourceKey[]): Promise<(place: number) => boolean> {
    const controls = [...this.#controls, ...(this.#last ? [this.#last] : [])];
    // What the service refuses to answer is not missing; a control that it refuses has failed.
    const areControlsThere = async () => (await this.#areThere(controls)).every((isThere) => isThere === true);
    const areThere = (await areControlsThere()) ? await this.#areThere(keys) : undefined;
    // A service that finds nothing at the moment says nothing about the rest.
    if (!areThere || !(await areControlsThere()))
      return this.#kept(`${at}: ${rows}, and single reads do not find rows that were read either`);
    const present = areThere.filter((isThere) => isThere !== false).length;
    if (present > 0) this.#warn(`${at}: ${rows}, but ${amount(present)} of them are found one by one, so they stay`);
    return (place) => areThere[place] === false;
  }

  async #areThere(keys: readonly SourceKey[]): Promise<readonly (boolean | undefined)[]> {
    const { concurrency } = this.options;
    const answers: (boolean | undefined)[] = [];
    for (let from = 0; from < keys.length; from += concurrency)
      answers.push(...(await Promise.all(keys.slice(from, from + concurrency).map((key) => this.#isThere(key)))));
    return answers;
  }

  /** @returns `undefined` if the service refuses to tell. @throws {SourceError} For an outage. */
  async #isThere(key: SourceKey): Promise<boolean | undefined> {
    const { collection, find, signal } = this.options;
    const id = key[collection.key.indexOf(collection.id)] ?? '';
    try {
      const records = await firstValueFrom(find(id).pipe(untilAborted(signal, 'the run was stopped; nothing was published')));
      // An identifier that is the whole key may be written in another way.
      if (key.length === 1) return records.length > 0;
      return records.some((record) => collection.key.every((name, index) => record[name] === key[index]));
    } catch (failure) {
      if (isViolation(failure)) return undefined;
      throw failure;
    }
  }

  #kept(why: string): () => boolean {
    this.#warn(`${why}, so none of them is deleted`);
    return () => false;
  }

  #warn(message: string): void {
    this.options.warn({ code: 'W_SINK_KEPT', message });
  }
}
