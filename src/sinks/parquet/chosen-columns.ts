import type { Column } from '../../core/index.js';
import type { SinkPlan } from '../sink.js';

/**
 * The columns that `columns` chooses, while a file is checked. A name that is not known here may be any of those that other options name, but
 * it is one of them only.
 */
export class ChosenColumns {
  readonly #known: readonly string[] | undefined;
  /** Names that are not known. */
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

  /** Those of the columns that arrive which are chosen, or can be. */
  get all(): readonly Column[] {
    return this.#spare > 0 ? this.arriving : this.arriving.filter(({ name }) => this.only?.includes(name) ?? true);
  }

  /** Whether a column cannot be chosen any more, since the unknown names have to be others that were asked for before. */
  isLeftOut(name: string): boolean {
    if (this.#spare === 0 || this.#known?.includes(name) !== false) return false;
    return this.#taken.add(name).size > this.#spare;
  }
}
