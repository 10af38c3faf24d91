import { amountOf, GateError, itemAt, StepError } from '../../core/index.js';
import { defaultMemory, RowSorter, scratchFolder } from '../../engine/index.js';
import { blocking, failureAt, KeyMap, type RowPlace, type Step } from '../../flow/index.js';
import { keysOf, type Normalize } from '../../vector/index.js';
import type { StepRuntime } from '../step.js';

/**
 * Passes the first row of each group of rows that share a key, also through other rows. A row that shares a key with an earlier one is
 * dropped at once; the others wait in a scratch file until the end, since a later row can show that two of them are the same.
 *
 * @param any The keys, each of some columns. One with a blank part is none.
 * @param options.most Rows of the largest group that is allowed.
 */
export function grouping(
  any: readonly (readonly string[])[],
  { fold = (text) => text, most }: { readonly fold?: Normalize | undefined; readonly most: number },
  runtime: StepRuntime,
): Step {
  const { at, tally, scratch: folder = scratchFolder() } = runtime;
  return blocking(runtime, () => {
    const groups = new Groups(any.length);
    const failed = (message: string) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`);
    const waiting = new RowSorter([], { memory: defaultMemory, folder, failed });
    let tooLarge: { readonly group: number; readonly place: RowPlace } | undefined;
    return {
      add: (batch, page) => {
        const keysAt = any.map((key) => keysOf(batch, key, (text) => (text.trim() === '' ? '' : fold(text))));
        const kept = batch.filter((index) => {
          const { group, isNew } = groups.add(keysAt.map((keyAt) => keyAt(index)));
          if (groups.sizeOf(group) > most) tooLarge ??= { group, place: { at, page, index, row: batch.row(index) } };
          return isNew;
        });
        tally.duplicates += batch.length - kept.length;
        return waiting.add(kept, []);
      },
      finish: async () => {
        // Only here, since the size of the whole group shows whether another max_group helps.
        if (tooLarge) throw refusal(tooLarge.place, groups.sizeOf(tooLarge.group), most);
        const reader = await waiting.finish();
        let next = 0;
        return {
          next: async () => {
            for (;;) {
              const batch = await reader.next();
              const kept = batch.filter((row) => groups.isFirst(next + row));
              next += batch.length;
              tally.duplicates += batch.length - kept.length;
              if (kept.length > 0 || batch.length === 0) return kept;
            }
          },
        };
      },
      close: () => waiting.close(),
    };
  });
}

function refusal(place: RowPlace, size: number, most: number): GateError {
  const group = `is in a group of ${amountOf(size, 'row')} that share values by any; max_group is ${most}`;
  return failureAt(place, (row) => new GateError('E_GATE_GROUP', `${place.at}: ${row} ${group}`));
}

/** Groups of rows (union-find), numbered by their first rows among those that wait. */
class Groups {
  readonly #groupOf: readonly KeyMap[];
  /** By group: an earlier group that it is a part of; or, negative, the number of its rows. */
  readonly #links: number[] = [];

  constructor(keys: number) {
    this.#groupOf = Array.from({ length: keys }, () => new KeyMap());
  }

  /** Adds a row by its keys, and joins the groups that have one of them. @returns Its group, and whether that began with it. */
  add(keys: readonly (string | undefined)[]): { readonly group: number; readonly isNew: boolean } {
    const known = keys.map((key, index) => (key === undefined ? -1 : itemAt(this.#groupOf, index).open(key)));
    const joined = new Set(known.filter((group) => group >= 0).map((group) => this.#rootOf(group)));
    const first = Math.min(...joined, this.#links.length);
    const rows = [...joined].reduce((sum, group) => sum + this.sizeOf(group), 1);
    for (const group of joined) this.#links[group] = first;
    this.#links[first] = -rows;
    for (const [index, key] of keys.entries()) if (key !== undefined && known[index] === -1) itemAt(this.#groupOf, index).put(first);
    return { group: first, isNew: joined.size === 0 };
  }

  isFirst(group: number): boolean {
    return itemAt(this.#links, group) < 0;
  }

  sizeOf(group: number): number {
    return -itemAt(this.#links, this.#rootOf(group));
  }

  /** Returns the group that a group is a part of, and halves the way there. */
  #rootOf(group: number): number {
    let at = group;
    for (let next = itemAt(this.#links, at); next >= 0; next = itemAt(this.#links, at)) {
      const after = itemAt(this.#links, next);
      if (after >= 0) this.#links[at] = after;
      at = next;
    }
    return at;
  }
}
