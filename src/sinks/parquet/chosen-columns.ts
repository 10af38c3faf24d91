import type { Column } from '../../core/index.js';
import type { SinkPlan } from '../sink.js';

/**
 * The columns chosen by `columns`, while a file is checked. A name that is not known yet may stand for
 * any column that other options name, but only for one of them.
 */
export class ChosenColumns {
  readonly #known: readonly string[] | undefined;
  /** Number of unknown names. */
  readonly #spare: number;
  readonly #taken = new Set<string>();

  constructor(
    private readonly only: readonly string[] | undefined,
    private readonly arriving: readonly Column[],
    { isUnknown }: SinkPlan,
  ) {
    this.#known = only?.filter((_, index) => !isUnknown?.(['columns', index]));
    this.#spare = (only?.length ?? 0) - (this.#known?.length ?? 0);
  }

  /** The arriving columns that are chosen, or may be. */
  get all(): readonly Column[] {
    return this.#spare > 0 ? this.arriving : this.arriving.filter(({ name }) => this.only?.includes(name) ?? true);
  }

  /** Returns whether a column can no longer be chosen, because the unknown names must be other columns requested before. */
  isLeftOut(name: string): boolean {
    if (this.#spare === 0 || this.#known?.includes(name) !== false) return false;
    return this.#taken.add(name).size > this.#spare;
  }
}
