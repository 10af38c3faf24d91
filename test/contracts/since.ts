import { expect, test } from '@jest/globals';
import { itemAt } from '../../src/core/index.js';
import type { RunReport } from '../../src/run/index.js';
import type { Lead, Nights } from '../support/nights.js';
import { seeded } from '../support/seeded.js';
import { lead } from '../support/services.js';

/** A table that nights with `since` write, in one of its modes. */
export interface SinceTable {
  readonly nights: Nights;
  readonly mode: 'append' | 'merge';
  /** Returns its rows, as identifier and status. */
  rows(): Promise<readonly (readonly [id: string, status: string])[]>;
}

const pageRows = 10;
const overlap = 2;
export const since = `since: { list: grows_at_end, overlap: ${overlap} }`;

const warned = ({ warnings }: RunReport) => warnings.filter(({ code }) => code === 'W_SOURCE_SINCE').map(({ message }) => message);

/** What the last run knew: the last rows of the list, where they began, and the size of pages. */
interface Known {
  readonly from: number;
  readonly rows: readonly string[];
  readonly size: number;
  readonly whole: number;
}

/** Nights of a list that grows at its end, and of one that does not, and what the table should have after each. */
class SinceNights {
  readonly #random: () => number;
  #list: Lead[] = [];
  #taken: Lead[] = [];
  #id = 0;
  #cap = pageRows;
  #known: Known | undefined;
  #isOff = false;
  readonly #table = new Map<unknown, unknown>();

  constructor(
    private readonly table: SinceTable,
    seed: number,
    private readonly isMutant: boolean,
  ) {
    this.#random = seeded(seed);
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  #row(): Lead {
    return lead((this.#id += 1), { lead_status: `s${this.#below(90)}` });
  }

  /** Changes the list before a row, which is one of the last pages or an earlier one. */
  #mutate(): void {
    const list = this.#list;
    const { from = 0, rows = [] } = this.#known ?? {};
    const at = this.#below(2) === 0 ? this.#below(from) : from + this.#below(rows.length);
    const other = this.#below(Math.max(1, from));
    const kinds: readonly (() => unknown)[] = [
      () => list.splice(at, 0, this.#row()),
      () => list.splice(at, 1),
      () => list.splice(at, 1, { ...list[at], lead_status: `c${this.#below(90)}` }),
      () => list.splice(other, 0, ...list.splice(at, 1)),
      () => (list.splice(at, 1), list.splice(other, 0, this.#row())),
      () => (this.#taken = list.splice(Math.max(0, list.length - 1 - this.#below(25)))),
      () => (this.#cap = this.#cap === pageRows ? 7 : pageRows),
    ];
    itemAt(kinds, this.#below(kinds.length))();
  }

  async night(number: number): Promise<void> {
    const list = this.#list;
    list.push(...this.#taken.splice(0));
    if (this.isMutant && this.#known && this.#below(3) === 0) this.#mutate();
    for (let count = number === 0 ? 60 : this.#below(15); count > 0; count -= 1) list.push(this.#row());
    const { known, isWhole, isDue } = this.#expected(number);
    const from = isWhole ? 0 : (known?.from ?? 0);
    const missed = isWhole ? this.#missed() : { inserted: 0, changed: 0 };
    for (const row of list.slice(from)) {
      const { lead_id: id, lead_status: status } = row;
      if (this.table.mode === 'merge' || !this.#table.has(id)) this.#table.set(id, status);
    }
    const now = new Date(Date.UTC(2026, 0, 1 + number));
    const report = await this.table.nights.run({ list, limit: pageRows, cap: this.#cap }, undefined, { now });
    const what = `night ${number}`;
    expect([what, report.scope]).toEqual([what, isWhole ? undefined : 'since']);
    expect([what, new Map(await this.table.rows())]).toEqual([what, this.#table]);
    const messages = warned(report);
    const found = messages.find((message) => message.includes('had been missed'))?.match(/(\d+) rows? and (\d+) changed/);
    expect([what, Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)]).toEqual([what, missed.inserted, missed.changed]);
    expect([what, messages.length > 0]).toEqual([what, (isWhole && !isDue) || missed.inserted + missed.changed > 0]);
    expect([what, report.read]).toEqual([what, list.length - from]);
    this.#isOff ||= missed.inserted > 0;
    this.#note(isWhole ? number : (known?.whole ?? 0));
  }

  /** Whether everything has to be read, and whether that was to be expected. */
  #expected(number: number) {
    const known = this.#known;
    const isDue = !known || known.from === 0 || (!this.#isOff && number - known.whole >= 7);
    const isSame = known?.size === this.#cap && known.rows.every((row, index) => row === JSON.stringify(this.#list[known.from + index]));
    return { known, isDue, isWhole: isDue || this.#isOff || !isSame };
  }

  /** What the table lacks of the rows before the pages that a night reads. */
  #missed() {
    const { from = 0 } = this.#known ?? {};
    const before = this.#list.slice(0, Math.ceil(from / this.#cap) * this.#cap);
    const inserted = before.filter(({ lead_id: id }) => !this.#table.has(id)).length;
    const changed = before.filter(({ lead_id: id, lead_status: status }) => this.#table.has(id) && this.#table.get(id) !== status).length;
    return { inserted, changed };
  }

  #note(whole: number): void {
    const list = this.#list;
    const last = Math.floor((list.length - 1) / this.#cap) * this.#cap;
    const isFull = list.length - last === this.#cap;
    const from = Math.max(0, last - (isFull ? overlap - 1 : overlap) * this.#cap);
    this.#known = { from, rows: list.slice(from).map((row) => JSON.stringify(row)), size: this.#cap, whole };
  }
}

/** @param count How many seeds, of which the second switches `since` off; more by hand, with `SINCE_SEEDS`. */
export function sinceTests(open: () => Promise<SinceTable>, count: number): void {
  const seeds = Array.from({ length: Number(process.env['SINCE_SEEDS'] ?? count) }, (_, index) => 4 * index + 1);
  for (const [what, isMutant] of [
    ['that grows at its end', false],
    ['that is changed at other places, too', true],
  ] as const)
    test.each(seeds)(`has after each night the rows that a model says, from a list ${what} (seed %s)`, async (seed) => {
      const nights = new SinceNights(await open(), seed, isMutant);
      for (let number = 0; number < 12; number += 1) await nights.night(number);
    });
}
